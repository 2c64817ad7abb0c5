// Is a kept answer still true at a newer commit? By the tables of two runs where there is no GitHub; by lines where there is.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startGitHub } from '../../../../src/emulators/github/server.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { answerIdOf } from '../../../../src/handoff/domain/answers/question.js'
import { answerMarkdown } from '../../../../src/handoff/domain/answers/render-answer.js'
import {
  answerQuestion as askAgain,
  checkStaleness,
  checkStalenessByRuns,
  currentCitations,
} from '../../../../src/handoff/index.js'
import { sha256 } from '../../../../src/handoff/store/run-store.js'
import { gitFolder } from '../../../support/git-folder.js'
import { makeCitation, storeAnswer, tableOf } from '../../../support/stored-answers.js'
import { makeStoredRuns, never, type StoredRuns, sha } from '../../../support/stored-runs.js'

let there: StoredRuns
beforeEach(async () => {
  there = await makeStoredRuns()
})
afterEach(() => there[Symbol.asyncDispose]())

const sealed = (commit: string, blobs: Record<string, number>) =>
  there.sealed(commit, { files: tableOf(commit, blobs) })
const ask = (record: ReturnType<typeof storeAnswer>, head: string) =>
  checkStalenessByRuns({ repository: there.repository, record, head }, there.context, never)

describe('by the tables of two runs', () => {
  const before = { 'a.ts': 1, 'b.ts': 2, 'c.ts': 3, 'd.ts': 4 }

  test('the same blobs: still valid', async () => {
    const run = await sealed(sha(1), before)
    await sealed(sha(2), { ...before, 'c.ts': 9, 'new.ts': 5 })
    const found = await ask(
      storeAnswer(there, run, [makeCitation('a.ts', 1, 3), makeCitation('a.ts', 9), makeCitation('b.ts', 2)]),
      sha(2),
    )
    expect(found).toMatchObject({ valid: true, precision: 'files', answered: sha(1), head: sha(2) })
    expect(found!.citations.map(({ verdict }) => verdict)).toEqual(['same', 'same', 'same'])
    expect(found!.text).toBe(`The head is now ${sha(2).slice(0, 7)}; still valid: none of the 3 cited ranges changed.`)
  })

  test('another blob: changed, and that the lines are not known; gone; moved as it was', async () => {
    const run = await sealed(sha(1), before)
    await sealed(sha(2), { 'a.ts': 9, 'moved/b.ts': 2, 'd.ts': 4 })
    const record = storeAnswer(there, run, [
      makeCitation('a.ts', 1),
      makeCitation('b.ts', 1),
      makeCitation('c.ts', 1),
      makeCitation('d.ts', 1),
    ])
    const found = await ask(record, sha(2))
    expect(found!.citations.map(({ path, verdict, now }) => [path, verdict, now])).toEqual([
      ['a.ts', 'changed', undefined],
      ['b.ts', 'moved', 'moved/b.ts'],
      ['c.ts', 'gone', undefined],
      ['d.ts', 'same', undefined],
    ])
    expect(found!.sentence).toBe(
      '1 of the 4 cited ranges changed: c.ts:1 (deleted); 1 of the 4 cited ranges lies in a file that changed, in which lines is not known: a.ts:1; 1 of the 4 cited ranges moved: b.ts:1 to moved/b.ts',
    )
  })

  test('what a comparison cites of the earlier commit does not go stale', async () => {
    const run = await sealed(sha(1), before)
    await sealed(sha(2), { ...before, 'a.ts': 9 })
    const citations = [
      { ...makeCitation('a.ts', 1), commit: sha(7) },
      { ...makeCitation('b.ts', 1), commit: sha(1) },
    ]
    const record = storeAnswer(there, run, [...citations, { ...makeCitation('a.ts', 5), verified: false }])
    expect(currentCitations(record)).toEqual([{ path: 'b.ts', from: 1, to: 1 }])
    expect(await ask(record, sha(2))).toMatchObject({ valid: true })
  })

  test('a run that is missing says nothing; one whose table was changed is not believed', async () => {
    const run = await sealed(sha(1), before)
    const record = storeAnswer(there, run, [makeCitation('a.ts', 1)])
    expect(await ask(record, sha(2))).toBeUndefined()
    const other = await sealed(sha(2), before)
    there.drive.write(
      `${there.place.run(other)}/analysis/files.json`,
      tableOf(sha(2), { 'a.ts': 9 })['analysis/files.json']!,
    )
    await expect(ask(record, sha(2))).rejects.toMatchObject({ code: 'corrupt' })
    const asked = { repository: there.repository, record, head: sha(2) }
    expect(await checkStaleness(asked, there.context, undefined, never)).toBeUndefined()
    expect(await checkStaleness({ ...asked, head: sha(1) }, there.context, undefined, never)).toBeUndefined()
  })
})

test('an answer that is shown again through a ref whose head moved says what that means', async () => {
  await using local = await startGitHub()
  using folder = gitFolder()
  local.addRepository({ name: 'octo/tools', directory: folder.directory })
  const token = local.issueToken({ permissions: { contents: 'read' } })
  const github = makeGitHub({ apiUrl: local.apiUrl, serverUrl: local.url, credentials: { token }, userAgent: 'test' })
  const [answered, head] = [folder.commit({ 'a.ts': 'one\ntwo\n' }), folder.commit({ 'a.ts': 'one\n2\n' })]
  const run = await sealed(answered, { 'a.ts': 1 })
  there.ref('refs/heads/main', answered)
  const question = { text: 'What is it?' }
  const id = answerIdOf({ run, question: question.text, model: there.context.ports.model.name }, sha256)
  const record = storeAnswer(there, run, [makeCitation('a.ts', 2)], id)
  there.context.ports.git = { heads: async () => new Map([['refs/heads/main', head]]) }
  const request = {
    repository: there.repository,
    cloneUrl: 'https://git.example.org/octo/tools.git',
    name: { ref: 'refs/heads/main' },
    question,
  }
  const shown = await askAgain({ ...request, github: async () => github }, there.context, never)
  expect(shown).toMatchObject({ reused: true, record: { id: record.id }, run: { behind: { head } } })
  expect(shown.stale).toMatchObject({ head, valid: false, sentence: 'the one cited range changed: a.ts:2' })
  // Without a GitHub client and without a run of the head, the answer is still returned.
  const alone = await askAgain(request, there.context, never)
  expect({ id: alone.record.id, stale: alone.stale }).toEqual({ id, stale: undefined })
})

test('GitHub tells lines; where it has forgotten a commit, the runs tell files', async () => {
  await using local = await startGitHub()
  using folder = gitFolder()
  local.addRepository({ name: 'octo/tools', directory: folder.directory })
  const token = local.issueToken({ permissions: { contents: 'read' } })
  const github = makeGitHub({ apiUrl: local.apiUrl, serverUrl: local.url, credentials: { token }, userAgent: 'test' })
  const lines = (second: string) => `one\n${second}\nthree\n`
  const [answered, head] = [folder.commit({ 'a.ts': lines('two') }), folder.commit({ 'a.ts': lines('2') })]
  const run = await sealed(answered, { 'a.ts': 1 })
  await sealed(head, { 'a.ts': 2 })
  const record = storeAnswer(there, run, [makeCitation('a.ts', 1), makeCitation('a.ts', 2)])
  const of = (asked: typeof record, at: string) =>
    checkStaleness({ repository: there.repository, record: asked, head: at }, there.context, github, never)
  const found = await of(record, head)
  expect(found).toMatchObject({
    precision: 'lines',
    citations: [{ verdict: 'same' }, { path: 'a.ts', from: 2, to: 2, verdict: 'changed' }],
  })
  const shown = answerMarkdown(
    record,
    { host: 'github.com', repository: 'octo/tools' },
    { form: 'comment', stale: found!.text },
  )
  expect(shown).toContain('1 of the 2 cited ranges changed: a.ts:2')

  const lost = await sealed(sha(1), { 'a.ts': 1 })
  expect(await of(storeAnswer(there, lost, [makeCitation('a.ts', 1)]), head)).toMatchObject({
    precision: 'files',
    citations: [{ verdict: 'changed' }],
  })
})
