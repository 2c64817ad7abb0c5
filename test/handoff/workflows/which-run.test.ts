// A run is handed out only for the repository that it was made of, which GitHub's number tells and its name does not.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeHandoff, encodeHandoff, encodePointer } from '../../../src/handoff/domain/handoff-record.js'
import { artifact } from '../../../src/handoff/domain/run.js'
import { sha256 } from '../../../src/handoff/store/run-store.js'
import { parseRunName, type RunName, resolveRun } from '../../../src/handoff/workflows/answer/resolve-run.js'
import { makeStoredRuns, never, type StoredRuns, sha } from '../../support/stored-runs.js'

let there: StoredRuns
beforeAll(async () => {
  there = await makeStoredRuns()
  await there.sealed(sha(1), { repositoryId: '7' })
  await there.sealed(sha(2))
})
afterAll(() => there[Symbol.asyncDispose]())

interface Asked {
  id?: string
  strict?: boolean
}

async function outcome(commit: string, { id, strict }: Asked) {
  const where = {
    repository: { ...there.repository, ...(id === undefined ? {} : { id }) },
    ...(strict === undefined ? {} : { strict }),
  }
  return resolveRun(where, { commit }, there.context, never).then(
    (chosen) => chosen.handoff.commit,
    (error: { code: string }) => error.code,
  )
}

const [numbered, unnumbered] = [sha(1), sha(2)]

test.each<[string, string, Asked, boolean]>([
  ['with its number', numbered, { id: '7', strict: true }, true],
  ['with its number, leniently', numbered, { id: '7' }, true],
  ['with another number', numbered, { id: '8', strict: true }, false],
  ['with another number, leniently', numbered, { id: '8' }, false],
  ['without a number', numbered, { strict: true }, true],
  ['that recorded none, with a number', unnumbered, { id: '7', strict: true }, false],
  ['that recorded none, with a number, leniently', unnumbered, { id: '7' }, true],
  ['that recorded none, without a number', unnumbered, { strict: true }, true],
])('a run %s', async (_what, commit, asked, allowed) => {
  expect(await outcome(commit, asked)).toBe(allowed ? commit : 'forbidden')
})

test.each<[string, string, boolean]>([
  ['another repository', 'octo/other', false],
  ['another owner', 'other/tools', false],
  ['the same repository, spelled otherwise', 'Octo/Tools', true],
])('a sealed run whose handoff names %s', async (_what, repository, allowed) => {
  const commit = sha(3)
  const run = await there.sealed(commit, { repositoryId: '7' })
  const path = `${there.place.run(run)}/${artifact.handoff}`
  const forged = encodeHandoff({ ...decodeHandoff(there.drive.readFile(path)!), repository })
  const sealedAt = '2026-11-19T10:00:00.000Z'
  there.drive.write(path, forged)
  there.drive.write(there.place.pointer(commit), encodePointer({ version: 1, run, handoff: sha256(forged), sealedAt }))
  expect(await outcome(commit, { id: '7', strict: true })).toBe(allowed ? commit : 'corrupt')
  there.drive.remove(there.place.run(run))
  there.drive.remove(there.place.pointer(commit))
})

const commitId = 'a'.repeat(40)
test.each<[string, RunName]>([
  [commitId, { commit: commitId }],
  [`${commitId}-first`, { run: `${commitId}-first` }],
  [`x${commitId}`, { ref: `refs/heads/x${commitId}` }],
  [`x${commitId}-first`, { ref: `refs/heads/x${commitId}-first` }],
  [`${commitId}b`, { ref: `refs/heads/${commitId}b` }],
  ['#12', { ref: 'refs/pull/12' }],
  ['x#12', { ref: 'refs/heads/x#12' }],
  ['#12x', { ref: 'refs/heads/#12x' }],
  ['HEAD', { ref: 'HEAD' }],
  ['refs/heads/main', { ref: 'refs/heads/main' }],
  ['main', { ref: 'refs/heads/main' }],
])('%s names a run', (text, name) => {
  expect(parseRunName(text)).toEqual(name)
})
