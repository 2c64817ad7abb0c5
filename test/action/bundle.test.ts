// The bundle: what is in it, what each way through it loads, and that it needs nothing but itself.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withoutOpaqueImport } from '../../src/build/action.js'
import { type ActionStack, type Event, root, startActionStack } from './kit.js'

const dist = join(root, 'dist')
const preload = join(import.meta.dirname, 'watch-loading.mjs')
let stack: ActionStack

beforeAll(async () => {
  stack = await startActionStack({ files: { 'README.md': '# Tools\n', 'src/a.ts': 'export const a = 1\n' } })
})
afterAll(() => stack?.close())

const code = async (folder = dist) =>
  (await readdir(folder)).filter((name) => name.endsWith('.js') && !name.startsWith('sandbox-'))

/** What a step loads of the bundle, with sizes. */
async function loadedBy(event: Event, inputs: Record<string, string> = {}) {
  const file = join(stack.folder, `loaded-${Math.random()}`)
  const environment = { NODE_OPTIONS: `--import=${preload}`, WATCH_LOADING_FILE: file }
  const step = await stack.step({ event, inputs, environment })
  return { step, ...(await sizes(file)) }
}

async function sizes(file: string) {
  const urls = [...new Set((await readFile(file, 'utf8')).trim().split('\n'))]
  const names = urls.filter((url) => url.includes('/dist/')).map((url) => url.slice(url.indexOf('/dist/') + 6))
  const bytes = await Promise.all(names.map(async (name) => [name, (await stat(join(dist, name))).size] as const))
  const inCode = bytes.filter(([name]) => name.endsWith('.js') && !name.startsWith('sandbox-'))
  return { files: Object.fromEntries(bytes), bytes: inCode.reduce((sum, [, size]) => sum + size, 0) }
}

/** Chunks with an SDK in them, by words that only it has. */
async function sdkChunks(): Promise<string[]> {
  const texts = await Promise.all(
    (await code()).map(async (name) => [name, await readFile(join(dist, name), 'utf8')] as const),
  )
  return texts.filter(([, text]) => text.includes('e2b-js-sdk') || /x-stainless-/i.test(text)).map(([name]) => name)
}

describe('what is in it', () => {
  test('under 1.5 MB of code, and no package is looked for at run time', async () => {
    const names = await code()
    const texts = await Promise.all(names.map((name) => readFile(join(dist, name), 'utf8')))
    expect(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)).toBeLessThan(1_500_000)
    const specifiers = texts.flatMap((text) =>
      [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([\w@./:-]+)"/g)].map((match) => match[1]!),
    )
    expect(specifiers.filter((one) => !/^(node:|\.\/)/.test(one) && !builtins.has(one))).toEqual([])
    expect(JSON.parse(await readFile(join(dist, 'package.json'), 'utf8'))).toEqual({ type: 'module' })
  })

  test('an SDK is in it, apart', async () => {
    expect((await sdkChunks()).length).toBeGreaterThanOrEqual(2)
  })

  test('licences name everything that is bundled, each with a text', async () => {
    const text = await readFile(join(dist, 'licenses.txt'), 'utf8')
    for (const name of [
      '@actions/core',
      '@actions/github',
      'e2b',
      'openai',
      '@bufbuild/protobuf',
      '@connectrpc/connect',
    ]) {
      const part = text.split(/^─+$/m).find((one) => one.trim().startsWith(`${name} `))
      expect(part, name).toMatch(/copyright|Apache License/i)
      expect(part!.length, name).toBeGreaterThan(500)
    }
  })

  test("of GitHub's own packages only what is used: no HTTP client, no client of the API, no starter of programs", async () => {
    const [list = ''] = (await readFile(join(dist, 'licenses.txt'), 'utf8')).split('─', 1)
    expect(list).toContain('  @actions/core ')
    expect(list).not.toMatch(/undici|tunnel|http-client|exec|@octokit/)
    const texts = await Promise.all((await code()).map((name) => readFile(join(dist, name), 'utf8')))
    expect(texts.filter((text) => /actions\/oidc-client|lsb_release|octokit-core/.test(text)).length).toBe(0)
  })

  // That the same sources give the same bytes is what CI looks at: it builds in another folder, and compares with what is committed.
  test('no folder of the machine that built it', async () => {
    const texts = await Promise.all((await code()).map((name) => readFile(join(dist, name), 'utf8')))
    expect(texts.filter((text) => text.includes(root))).toEqual([])
  })

  test('a package that hides its HTTP client in another way stops the build', () => {
    expect(() => withoutOpaqueImport('return await import(module);')).toThrow('in another way than before')
  })
})

describe('what each way loads', () => {
  test('an event that is not ours: a few kilobytes and no SDK', async () => {
    const { step, files, bytes } = await loadedBy({ name: 'issue_comment', payload: { action: 'edited' } })
    expect(step.code).toBe(1)
    const ignored = await loadedBy({ name: 'star', payload: {} })
    expect(ignored.step.code).toBe(0)
    expect(ignored.bytes).toBeLessThan(60_000)
    expect(bytes).toBeGreaterThan(0)
    const sdks = await sdkChunks()
    expect(Object.keys(ignored.files).filter((name) => sdks.includes(name))).toEqual([])
    expect(Object.keys(files).filter((name) => sdks.includes(name))).toEqual([])
  })

  test('the step after the job: the same', async () => {
    const main = await stack.step({ event: { name: 'star', payload: {} } })
    const file = join(stack.folder, 'loaded-by-post')
    const post = await stack.post(main, { NODE_OPTIONS: `--import=${preload}`, WATCH_LOADING_FILE: file })
    expect(post.code).toBe(0)
    const { files, bytes } = await sizes(file)
    expect(bytes).toBeLessThan(60_000)
    expect(Object.keys(files).filter((name) => name.startsWith('work'))).toEqual([])
  })

  test('a summary loads both SDKs; a reused one neither', async () => {
    const sdks = await sdkChunks()
    const first = await loadedBy(stack.push())
    expect(first.step.errors).toEqual([])
    expect(Object.keys(first.files)).toEqual(expect.arrayContaining([...sdks, 'sandbox-survey.js']))
    const again = await loadedBy(stack.push())
    expect(again.step.outputs['reused']).toBe('true')
    expect(Object.keys(again.files).filter((name) => sdks.includes(name))).toEqual([])
  })
})

const builtins = new Set(['fs', 'os', 'path', 'module', 'url', 'crypto', 'util', 'worker_threads'])
