// What Sandbox A stored is taken out of its reach, compared with what it reported, and named where it was not reported.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Artifact } from '../../../../src/handoff/domain/handoff-record.js'
import { artifact, makeRunId, stageOf } from '../../../../src/handoff/domain/run.js'
import { sha256 } from '../../../../src/handoff/store/run-store.js'
import type { SandboxResult } from '../../../../src/handoff/workflows/summarise/survey-in-sandbox.js'
import type { SummariseRequest } from '../../../../src/handoff/workflows/summarise/types.js'
import { verifyRun } from '../../../../src/handoff/workflows/summarise/verify-run.js'
import { makeStoredRuns, never, type StoredRuns, sha } from '../../../support/stored-runs.js'

let there: StoredRuns
let directory: string
let tree: string

beforeEach(async () => {
  there = await makeStoredRuns()
  directory = there.place.run(makeRunId(sha(1), 'first'))
  tree = artifact.tree(there.repository)
})
afterEach(() => there[Symbol.asyncDispose]())

const put = (path: string, text: string): Artifact => {
  there.drive.write(`${stageOf(directory)}/${path}`, text)
  return { path, bytes: Buffer.byteLength(text), sha256: sha256(text) }
}

async function verify(form: 'tar' | 'plain', stored: Artifact[]): Promise<string[]> {
  const found = { stored, notices: ['another'] } as unknown as SandboxResult
  const request = { form, commit: { repository: there.repository } } as SummariseRequest
  await verifyRun(request, there.context, directory, found, never)
  return found.notices
}

const clone = () => put(artifact.clone(there.repository), 'a tar')

test('what was reported is moved and verified, without a notice', async () => {
  expect(await verify('tar', [clone()])).toEqual(['another'])
  expect(there.files()).toEqual([`${directory}/${artifact.clone(there.repository)}`])
})

test('a file with other bytes than reported ends the run', async () => {
  await expect(verify('tar', [{ ...clone(), sha256: sha256('b tar') }])).rejects.toMatchObject({ code: 'drive' })
})

test.each<[number, string]>([
  [1, 'The sandbox wrote files that it did not report: “odd-0”. They were removed.'],
  [3, 'The sandbox wrote files that it did not report: “odd-0”, “odd-1”, “odd-2”. They were removed.'],
  [4, 'The sandbox wrote files that it did not report: “odd-0”, “odd-1”, “odd-2” and 1 more. They were removed.'],
])('%d files that were not reported are named first and removed', async (count, notice) => {
  for (let index = 0; index < count; index += 1) put(`odd-${index}`, 'x')
  expect(await verify('tar', [clone()])).toEqual([notice, 'another'])
  expect(there.files()).toEqual([`${directory}/${artifact.clone(there.repository)}`])
})

const plainFile = (text: string) => {
  const { bytes, sha256: digest } = put(`${tree}/src/a.ts`, text)
  const table = { files: [{ path: 'src/a.ts', bytes, sha256: digest }], links: [] }
  return put(artifact.treeTable, JSON.stringify(table))
}

test('plain files are moved with their folder, compared with their table, and named if they are not in it', async () => {
  const table = plainFile('one')
  put(`${tree}/src/odd.ts`, 'x')
  expect(await verify('plain', [clone(), table])).toEqual([
    'The sandbox wrote files that it did not report: “src/odd.ts”. They were removed.',
    'another',
  ])
  expect(there.files(`${directory}/${tree}`)).toEqual([`${directory}/${tree}/src/a.ts`])
})

test('a plain file that was not reported and cannot be removed ends the run', async () => {
  const table = plainFile('one')
  put(`${tree}/src/odd.ts`, 'x')
  there.drive.rule({ method: 'DELETE', path: /odd\.ts/, fault: { kind: 'answer', status: 403 } })
  await expect(verify('plain', [clone(), table])).rejects.toThrow('The key may not do this')
})

test('a plain file with other bytes than in the table ends the run', async () => {
  const table = plainFile('one')
  put(`${tree}/src/a.ts`, 'two')
  await expect(verify('plain', [clone(), table])).rejects.toMatchObject({ code: 'drive' })
})

test('plain files are no part of a run in the other form', async () => {
  const table = plainFile('one')
  expect(await verify('tar', [clone(), table])).toEqual([
    `The sandbox wrote files that it did not report: “${tree}/src/a.ts”. They were removed.`,
    'another',
  ])
})
