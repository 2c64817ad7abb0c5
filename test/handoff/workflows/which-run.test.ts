// A run is handed out only for the repository that it was made of, which GitHub's number tells and its name does not.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resolveRun } from '../../../src/handoff/workflows/answer/resolve-run.js'
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
  return resolveRun(where, { commit }, there.context, there.place, never).then(
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
