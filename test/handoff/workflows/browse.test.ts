// A page of runs or answers reads the page and no more, a few files at a time, however much is stored.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Drive } from '../../../src/handoff/domain/ports.js'
import { resolveRun } from '../../../src/handoff/workflows/answer/resolve-run.js'
import { listAnswerPage, listRuns } from '../../../src/handoff/workflows/browse.js'
import { storeAnswer } from '../../support/stored-answers.js'
import { makeStoredRuns, never, type StoredRuns, sha } from '../../support/stored-runs.js'

let there: StoredRuns
const reads = { open: 0, most: 0, paths: new Set<string>() }

beforeAll(async () => {
  there = await makeStoredRuns()
  for (let commit = 1; commit < 40; commit += 1) await there.sealed(sha(commit), { days: 100 - commit })
  const run = await there.sealed(sha(40), { days: 60 })
  for (let answer = 0; answer < 40; answer += 1) storeAnswer(there, run, [])
})
afterAll(() => there[Symbol.asyncDispose]())

/** The drive, with its open reads counted. */
function countedContext() {
  const { drive } = there.context.ports
  const read: Drive['read'] = async (path, options) => {
    reads.open += 1
    reads.most = Math.max(reads.most, reads.open)
    reads.paths.add(path)
    try {
      return await drive.read(path, options)
    } finally {
      reads.open -= 1
    }
  }
  Object.assign(reads, { open: 0, most: 0, paths: new Set() })
  return { ...there.context, ports: { ...there.context.ports, drive: { ...drive, read } } }
}

test('a page of runs reads its own pointers and handoffs, eight runs at a time', async () => {
  const context = countedContext()
  const { items } = await listRuns(context, there.repository, { limit: 30 }, never)
  expect(items.map(({ commit }) => commit)).toEqual(Array.from({ length: 30 }, (_, index) => sha(40 - index)))
  expect(reads.paths.size).toBe(60)
  expect(reads.most).toBeGreaterThan(1)
  expect(reads.most).toBeLessThanOrEqual(8)
})

test('a page of answers reads its own records, eight at a time', async () => {
  const context = countedContext()
  const run = await resolveRun({ repository: there.repository }, { commit: sha(40) }, context, never)
  reads.paths.clear()
  const { items } = await listAnswerPage(context, run, { limit: 30 }, never)
  expect(new Set(items.map(({ id }) => id)).size).toBe(30)
  expect(reads.paths.size).toBe(30)
  expect(reads.most).toBeGreaterThan(1)
  expect(reads.most).toBeLessThanOrEqual(8)
})
