// What a later push means for an answer, compared in a real git repository through the local GitHub.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { headNote } from '../../../../src/handoff/workflows/pull-request/check-staleness.js'
import { type GitFolder, gitFolder } from '../../../support/git-folder.js'

let local: LocalGitHub
let folder: GitFolder
const call = { signal: AbortSignal.timeout(300_000) }

beforeEach(async () => {
  local = await startGitHub()
  folder = gitFolder()
  local.addRepository({ name: 'octo/tools', directory: folder.directory })
})
afterEach(async () => {
  await local.close()
  folder[Symbol.dispose]()
})

const makeClient = () =>
  makeGitHub({
    apiUrl: local.apiUrl,
    serverUrl: local.url,
    credentials: { token: local.issueToken({ permissions: { contents: 'read' } }) },
    userAgent: 'test',
  })

const lines = (count: number, change: Record<number, string> = {}) =>
  `${Array.from({ length: count }, (_, index) => change[index + 1] ?? `line ${index + 1}`).join('\n')}\n`

const cite = (path: string, from = 1, to = from) => ({ path, from, to })

async function note(answered: string, head: string, citations: ReturnType<typeof cite>[]) {
  const text = await headNote(makeClient(), { repository: 'octo/tools', answered, head, citations }, call)
  expect(text ?? 'Nothing.').toMatch(/[^.]\.$/)
  return text?.replace(head.slice(0, 7), 'B').slice(0, -1) ?? null
}

const start = 'The head is now B'
const unknown = (places: string) =>
  `cited range changed is not known, because the difference is too large to be shown: ${places}`

test('nothing to say while the head is what was answered about', async () => {
  const head = folder.commit({ 'a.ts': lines(9) })
  expect(await note(head, head, [cite('a.ts')])).toBeNull()
  expect(local.server.requests).toHaveLength(0)
})

describe('after a push', () => {
  test('the cited files that changed are counted, each once', async () => {
    const answered = folder.commit({ 'a.ts': lines(9), 'b.ts': lines(9), 'c.ts': lines(9) })
    const head = folder.commit({ 'a.ts': lines(9, { 2: 'x' }), 'b.ts': lines(9, { 5: 'x' }), 'd.ts': 'new\n' })
    const cited = [cite('a.ts', 1, 3), cite('a.ts', 8), cite('b.ts', 5), cite('c.ts')]
    expect(await note(answered, head, cited)).toBe(
      `${start}, 2 cited files changed; 2 of the 4 cited ranges changed: a.ts:1-3, b.ts:5`,
    )
    expect(await note(answered, head, [cite('a.ts', 2)])).toBe(
      `${start}, 1 cited file changed; the one cited range changed: a.ts:2`,
    )
    expect(await note(answered, head, [cite('c.ts')])).toBe(`${start}; still valid: the one cited range did not change`)
    expect(await note(answered, head, [])).toBe(start)
  })

  test('that the cited lines themselves are as they were is said', async () => {
    const answered = folder.commit({ 'a.ts': lines(40) })
    const head = folder.commit({ 'a.ts': `first\n${lines(40, { 20: 'x' })}` })
    const untouched = `${start}, 1 cited file changed; still valid: none of the 2 cited ranges changed`
    expect(await note(answered, head, [cite('a.ts', 1, 19), cite('a.ts', 21, 40)])).toBe(untouched)
    expect(await note(answered, head, [cite('a.ts', 19, 21)])).toBe(
      `${start}, 1 cited file changed; the one cited range changed: a.ts:19-21`,
    )
  })

  test('a file that was renamed, removed or replaced by another', async () => {
    const answered = folder.commit({ 'a.ts': lines(30), 'b.ts': `b\n${lines(3)}`, 'c.ts': 'one\ntwo\n' })
    const renamed = folder.commit({ 'a.ts': null, 'moved.ts': lines(30) })
    expect(await note(answered, renamed, [cite('a.ts', 3)])).toBe(
      `${start}, 1 cited file changed; still valid: the one cited range did not change; the one cited range moved: a.ts:3 to moved.ts`,
    )
    const removed = folder.commit({ 'b.ts': null })
    expect(await note(answered, removed, [cite('b.ts', 3)])).toBe(
      `${start}, 1 cited file changed; the one cited range changed: b.ts:3 (deleted)`,
    )
  })

  test('a binary file shows no lines, so its lines may have changed', async () => {
    const answered = folder.commit({ 'a.bin': new Uint8Array([0, 1, 2]) })
    const head = folder.commit({ 'a.bin': new Uint8Array([0, 1, 3]) })
    expect(await note(answered, head, [cite('a.bin')])).toBe(
      `${start}, 1 cited file changed; whether the one ${unknown('a.bin:1')}`,
    )
  })
})

describe('after a force-push', () => {
  test('both sides’ changes count, and the same change on both is none', async () => {
    const root = folder.commit({ 'a.ts': lines(9), 'b.ts': lines(9), 'c.ts': lines(9), 'd.ts': lines(9) })
    const answered = folder.commit({ 'a.ts': lines(9, { 1: 'x' }), 'b.ts': lines(9, { 1: 'same' }) })
    folder.git('checkout', '--quiet', '-B', 'main', root)
    const head = folder.commit({ 'b.ts': lines(9, { 1: 'same' }), 'c.ts': lines(9, { 1: 'y' }) })
    folder.git('branch', 'kept', answered)
    const cited = ['a.ts', 'b.ts', 'c.ts', 'd.ts'].map((path) => cite(path, 9))
    expect(await note(answered, head, cited)).toBe(
      `${start}, 2 cited files changed; 2 of the 4 cited ranges lie in files that changed, in which lines is not known: a.ts:9, c.ts:9`,
    )
    expect(await note(answered, head, [cite('b.ts'), cite('d.ts')])).toBe(
      `${start}; still valid: none of the 2 cited ranges changed`,
    )
  })

  test('a file that only one side renamed is not where it was', async () => {
    const root = folder.commit({ 'a.ts': lines(30), 'b.ts': 'b\n' })
    const answered = folder.commit({ 'b.ts': 'c\n' })
    folder.git('checkout', '--quiet', '-B', 'main', root)
    const head = folder.commit({ 'a.ts': null, 'moved.ts': lines(30) })
    folder.git('branch', 'kept', answered)
    expect(await note(answered, head, [cite('a.ts')])).toBe(
      `${start}, 1 cited file changed; the one cited range changed: a.ts:1 (deleted)`,
    )
  })

  test('back to an earlier commit', async () => {
    const head = folder.commit({ 'a.ts': lines(9) })
    const answered = folder.commit({ 'a.ts': lines(9, { 1: 'x' }) })
    expect(await note(answered, head, [cite('a.ts', 9)])).toBe(
      `${start}, 1 cited file changed; the one cited range lies in a file that changed, in which lines is not known: a.ts:9`,
    )
  })

  test('over a commit that GitHub has forgotten, only the two are named', async () => {
    const head = folder.commit({ 'a.ts': lines(9) })
    expect(await note('f'.repeat(40), head, [cite('a.ts')])).toBe(start)
  })
})

test('a list that GitHub cut is not taken for all', async () => {
  const many = (text: string) =>
    Object.fromEntries(Array.from({ length: 320 }, (_, index) => [`f${1_000 + index}.ts`, text]))
  const answered = folder.commit(many('one\nsame\n'))
  const head = folder.commit(many('two\nsame\n'))
  expect(await note(answered, head, [cite('f1000.ts')])).toBe(
    `${start}, at least 1 cited file changed; the one cited range changed: f1000.ts:1`,
  )
  // The cited line of one file is unchanged. The state of the other is unknown.
  const both = [cite('f1000.ts', 2), cite('f1319.ts', 2)]
  expect(await note(answered, head, both)).toBe(
    `${start}, at least 1 cited file changed; whether 1 of the 2 ${unknown('f1319.ts:2').replace('range ', 'ranges ')}`,
  )
  expect(await note(answered, head, [cite('f1319.ts')])).toBe(`${start}; whether the one ${unknown('f1319.ts:1')}`)
})

test('a limit or an outage costs the count only; a stop is a stop', async () => {
  const answered = folder.commit({ 'a.ts': lines(9) })
  const head = folder.commit({ 'a.ts': lines(8) })
  local.limits.exhaustHourlyLimit(3_000)
  expect(await note(answered, head, [cite('a.ts')])).toBe(start)
  const stopped = headNote(
    makeClient(),
    { repository: 'octo/tools', answered, head, citations: [cite('a.ts')] },
    { signal: AbortSignal.abort() },
  )
  await expect(stopped).rejects.toMatchObject({ code: 'cancelled' })
})
