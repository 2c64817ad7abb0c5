// The step after the job can only clean up: whatever the main step managed to save, post starts no sandbox, asks no model and stores nothing.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ActionStack, readDescription, root, startActionStack } from './kit.js'

let stack: ActionStack

beforeAll(async () => {
  stack = await startActionStack({ files: { 'README.md': '# Tools\n', 'src/a.ts': 'export const a = 1\n' } })
})
afterAll(() => stack?.close())

const isCreation = ({ method, path }: { method: string; path: string }) => method === 'POST' && path === '/v2/sandboxes'
const isWrite = ({ method }: { method: string }) => method === 'PUT' || method === 'POST'
const openTokens = () => stack.clouds.drive.issuedTokens().filter(({ revoked }) => !revoked)

/** Everything that costs money or leaves something behind. */
const paid = () => ({
  sandboxes: stack.clouds.sandboxes.requests.filter(isCreation).length,
  model: stack.clouds.model.requests.length,
  stored: stack.clouds.drive.requests.filter(isWrite).length,
})

test.each([5, 15, 25, 35, 45, 60, 70, 80, 95, 110])(
  'a step that is interrupted %i ms after its start leaves nothing for post to pay',
  async (milliseconds) => {
    const start = performance.now()
    const step = await stack.step({
      event: stack.push(),
      interruptWhen: () => performance.now() - start > milliseconds,
    })
    expect(step.code, 'it was interrupted before it was done').not.toBe(0)
    const before = paid()
    const post = await stack.post(step)
    expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
    expect(paid()).toEqual(before)
    expect(post.outputs).toEqual({})
  },
)

test('post revokes the directory token of a step that was killed', async () => {
  for (const { id } of openTokens()) stack.clouds.drive.expireToken(id)
  const expired = openTokens().length
  const step = await stack.step({ event: stack.push(), interruptAt: 'The sandbox has drive9', signal: 'SIGKILL' })
  expect(openTokens()).toHaveLength(expired + 1)
  const post = await stack.post(step)
  expect(post).toMatchObject({ code: 0, errors: [], warnings: [] })
  expect(openTokens()).toHaveLength(expired)
})

/** Every file that a program may load, by following its imports, those that are made later too. */
async function reachableFrom(name: string, found = new Map<string, string>()): Promise<Map<string, string>> {
  if (found.has(name)) return found
  const text = await readFile(join(root, 'dist', name), 'utf8')
  found.set(name, text)
  for (const [, next] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"\.\/([\w.-]+\.js)"/g))
    await reachableFrom(next!, found)
  return found
}

/** Words that stand in one kind of code only, whatever the bundler calls its parts. */
const signs = {
  'a client for models': /x-stainless-/i,
  'the summarise workflow': /ended without a survey of the repository/,
  'the answer workflow': /kept asking for more of the repository/,
}

test('the program of post holds no client for models and no workflow', async () => {
  const { runs } = await readDescription()
  const [main, post] = await Promise.all([runs.main, runs.post].map((path) => reachableFrom(path.replace('dist/', ''))))
  for (const [what, sign] of Object.entries(signs)) {
    expect(
      [...main!].some(([, text]) => sign.test(text)),
      `main has ${what}`,
    ).toBe(true)
    expect(
      [...post!].filter(([, text]) => sign.test(text)).map(([name]) => name),
      `post has ${what}`,
    ).toEqual([])
  }
})
