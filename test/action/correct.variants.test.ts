// `/correct` below an answer and a summary, from the built dist: who may, what is kept, where it is shown, and when it ends.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StoredComment } from '../../src/emulators/github/state.js'
import { type Correction, decodeCorrections } from '../../src/handoff/domain/corrections/correction.js'
import { tokenFiles, tokenSource } from '../support/token-files.js'
import { type ActionStack, startActionStack } from './kit.js'

let stack: ActionStack
const question = '/ask How is the token refreshed?'
const said = 'The hour is set by the server, see src/token.ts:4.'

beforeEach(async () => {
  stack = await startActionStack({
    repeated: {},
    files: [
      tokenFiles,
      { 'src/token.ts': `// A new first line.\n${tokenSource}` },
      { 'src/token.ts': tokenSource.replace('refreshToken(token: Token)', 'renewToken(token: Token)') },
      { 'src/token.ts': `// A new first line.\n${tokenSource}` },
    ],
    refs: { 'refs/pull/7/head': 3 },
  })
  stack.github.addPull(stack.onGitHub, { number: 7, head: { ref: 'topic', sha: commit(0) } })
  await pushed(0)
})
afterEach(() => stack?.close())

const commit = (index: number) => stack.repository.commits[index]!
const eventOf = (comment: StoredComment) => ({ ...stack.github.eventOf(comment), sha: commit(0) })
const say = (login: string, body: string) => stack.github.addComment(stack.onGitHub, 7, login, body)
const listPath = () =>
  stack.clouds.drive.tree('/').find(({ path }) => path.endsWith('octo/tools/corrections.json'))?.path
function corrections(): Correction[] {
  const path = listPath()
  return path === undefined ? [] : decodeCorrections(stack.clouds.drive.readFile(path)!).corrections
}
const byBot = () => stack.github.visibleComments(stack.onGitHub, 7).filter(({ author }) => author.type === 'Bot')
/** What the journal has of corrections. */
const noted = () =>
  [...stack.clouds.drive.journals.values()]
    .flatMap(({ entries }) => entries.map(({ type }) => type))
    .filter((type) => type === 'correction' || type === 'retraction')
const lastAnswer = () =>
  byBot().findLast(({ body }) => body.includes('handoff:ask v=1') && body.includes('state=done'))!
const prompts = (task: string) =>
  stack.clouds.model.requests.map(({ body }) => body.toString()).filter((body) => body.includes(`Task: ${task}`))

async function pushed(index: number) {
  stack.onGitHub.pulls.get(7)!.head.sha = commit(index)
  const step = await stack.step({ event: stack.pull(7, commit(index)) })
  expect(step.errors).toEqual([])
  return step
}
async function comment(login: string, body: string) {
  const written = say(login, body)
  const step = await stack.step({ event: eventOf(written), inputs: { journal: 'true' } })
  return { step, written, reactions: stack.github.reactionsOf(written) }
}

/** A writer asks, and corrects the answer. */
async function corrected() {
  await comment('writer', question)
  return comment('writer', `/correct ${said}`)
}

test('a stranger and a reader write nothing, and one permission is asked for', async () => {
  await comment('writer', question)
  for (const login of ['stranger', 'reader', 'triager']) {
    const before = stack.clouds.drive.requests.length
    const asked = stack.github.server.requests.length
    const { step, reactions } = await comment(login, `/correct ${said}`)
    expect(step.notices.join()).toContain('this takes write')
    expect(reactions).toEqual(['github-actions[bot]:confused'])
    expect(stack.clouds.drive.requests.length).toBe(before)
    const permissions = stack.github.server.requests.slice(asked).filter(({ path }) => path.includes('/permission'))
    expect(permissions).toHaveLength(1)
  }
  expect(corrections()).toEqual([])
})

test('a writer’s correction is kept with the lines that it names, and shown in the answer', async () => {
  const { step, written, reactions } = await corrected()
  expect(step).toMatchObject({ code: 0, errors: [] })
  expect(reactions).toEqual(['github-actions[bot]:rocket'])
  const [kept, ...others] = corrections()
  expect(others).toEqual([])
  expect(kept).toMatchObject({ id: `issue-${written.id}`, by: 'writer', text: said, commit: commit(0) })
  expect(kept!.places.length).toBeGreaterThan(0)
  expect(kept!.places.every(({ path, from, to }) => path === 'src/token.ts' && from <= 4 && 4 <= to)).toBe(true)
  expect(lastAnswer().body).toMatch(
    /`src\/token\.ts:[\d-]+`\]\([^)\n]*\)[^\n]* <!-- handoff:correction v=1 -->\(\*\*Correction\*\* by `writer`, \d{4}-\d\d-\d\d: The hour is set[^\n]*\)<!-- \/handoff:correction -->/,
  )
  expect(noted()).toEqual(['correction'])
  const again = await stack.step({ event: eventOf(written), inputs: { journal: 'true' } })
  expect(again.errors).toEqual([])
  expect(corrections()).toEqual([kept])
  expect(noted()).toEqual(['correction'])
})

test('the same question shows it with the stored answer, and the model of a new answer sees who says it', async () => {
  await corrected()
  await comment('writer', question)
  expect(lastAnswer().body).toContain('| Reused | yes')
  expect(lastAnswer().body).toContain('**Correction** by `writer`')
  expect(prompts('answer').join()).not.toContain('The hour is set by the server')
  await comment('writer', '/ask --fresh How is the token refreshed?')
  const [prompt] = prompts('answer').slice(-1)
  expect(prompt).toMatch(/=== correction by \\"writer\\" on \d{4}-\d\d-\d\d\\n\| about src\/token\.ts:/)
  expect(prompt).toContain('The hour is set by the server')
})

test('a push that moves the lines carries it; one that changes them ends it; and it is back with its lines', async () => {
  await corrected()
  const runs = []
  for (const index of [1, 2, 3]) {
    await pushed(index)
    runs.push(decodeCorrections(stack.clouds.drive.readFile(sealedList(commit(index)))!))
  }
  const [first] = corrections()
  const [moved, changed, back] = runs
  const froms = (of: Correction | undefined) => of?.places.map(({ from }) => from)
  expect(froms(moved!.corrections[0])).toEqual(first!.places.map(({ from }) => from + 1))
  expect(changed).toMatchObject({ corrections: [], ended: [first!.id] })
  expect(froms(back!.corrections[0])).toEqual(froms(moved!.corrections[0]))
})

const sealedList = (sha: string) =>
  stack.clouds.drive.tree('/').find(({ path }) => path.includes(`/runs/${sha}-`) && path.endsWith('/corrections.json'))!
    .path

test('`/correct --remove` takes it out of the answer and of the directory', async () => {
  await corrected()
  await comment('writer', '/ask --fresh How is the token refreshed?')
  const link = `https://example.org/x#issuecomment-${lastAnswer().id}`
  const nothing = await comment('writer', `/correct --remove ${link}`)
  expect(nothing.reactions).toEqual(['github-actions[bot]:confused'])
  expect(byBot().at(-1)!.body).toContain('There is no correction here to remove.')
  const [shown] = byBot().filter(({ body }) => body.includes('handoff:correction '))
  const { reactions } = await comment('writer', `/correct --remove https://example.org/x#issuecomment-${shown!.id}`)
  expect(reactions).toEqual(['github-actions[bot]:rocket'])
  expect(corrections()).toEqual([])
  expect(noted()).toEqual(['correction', 'retraction'])
  expect(shown!.body).not.toContain('Correction')
})

test('a summary is corrected at lines that it cites; without any the reply says how', async () => {
  await pushed(3)
  await stack.step({ event: stack.pull(7, commit(3)), inputs: { mode: 'comment' } })
  const summary = byBot().find(({ body }) => body.startsWith('<!-- handoff:summary'))!
  const link = `https://example.org/x#issuecomment-${summary.id}`
  await comment('writer', `/correct ${link} It is slower than it looks.`)
  expect(byBot().at(-1)!.body).toContain('has to name lines that the summary cites')
  expect(corrections()).toEqual([])
  const { reactions } = await comment('writer', `/correct ${link} README.md:1-3 It is slower than it looks.`)
  expect(reactions).toEqual(['github-actions[bot]:rocket'])
  expect(corrections()).toEqual([expect.objectContaining({ text: expect.stringContaining('slower') })])
  expect(summary.body).toMatch(/^<!-- handoff:summary v=1 -->\n<!-- handoff:correction v=1 -->\n> \*\*Correction\*\*/)
  await stack.step({ event: stack.pull(7, commit(3)), inputs: { mode: 'comment' } })
  expect(summary.body).toContain('slower than it looks')
  const report = await pushed(3)
  expect(report.summary).toMatch(/`README\.md:[\d-]+`\]\([^)\n]*\)[^\n]* \(\*\*Correction\*\* by `writer`/)
  expect(report.summary).not.toContain('## Corrections')
})

test.each([
  ['nothing', '/correct', 'The correction is empty.'],
  ['too much', `/correct ${'no '.repeat(400)}`, 'at most 1000 are taken'],
  [
    'a foreign link',
    '/correct https://example.org/x#issuecomment-1 no',
    'The link is not to an answer or a summary in this thread.',
  ],
])('%s is refused with a sentence', async (_, body, sentence) => {
  await corrected()
  const before = corrections()
  expect(before).toHaveLength(1)
  const { step, reactions } = await comment('writer', body)
  expect(step).toMatchObject({ code: 0, errors: [] })
  expect(step.notices.join()).toContain(sentence)
  expect(reactions).toEqual(['github-actions[bot]:confused'])
  expect(byBot().at(-1)!.body).toContain(sentence)
  expect(corrections()).toEqual(before)
})
