// The token of a sandbox opens what it must and no more, and ends on every path; what the sandbox stored is taken out of its reach.
import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HandoffError } from '../../../src/handoff/domain/errors.js'
import type { Drive } from '../../../src/handoff/domain/ports.js'
import { makeRunId, stageOf } from '../../../src/handoff/domain/run.js'
import type { RunEvent } from '../../../src/handoff/domain/run-events.js'
import { openRun, openSealed, takeFromStage } from '../../../src/handoff/store/run-access.js'
import { sha256 } from '../../../src/handoff/store/run-store.js'
import { makeStoredRuns, never, type StoredRuns, sha } from '../../support/stored-runs.js'

let there: StoredRuns
let drive: Drive
let directory: string
let stage: string
let events: RunEvent[]

beforeEach(async () => {
  there = await makeStoredRuns()
  drive = there.context.ports.drive
  directory = there.place.run(makeRunId(sha(1), 'first'))
  stage = stageOf(directory)
  events = []
})
afterEach(() => there[Symbol.asyncDispose]())

const ports = (on = drive) => ({ drive: on, emit: (event: RunEvent) => void events.push(event) })
const open = (secret = 'a-secret', on = drive, signal = never) => openRun(ports(on), directory, secret, 60, signal)
const text = (path: string) => there.drive.readFile(path)?.toString()
const tokens = () => there.drive.issuedTokens()
const living = () => tokens().filter(({ revoked }) => !revoked).length
const down = new HandoffError('drive', 'drive9 is down.', { next: 'Wait.' })

test('an attempt gets a token for its stage alone, and a marker on both sides of it', async () => {
  await using opened = await open()
  const scopes = [{ prefix: stage, ops: ['read', 'list', 'write', 'delete'] }]
  expect(tokens()).toMatchObject([{ scopes, subject: `handoff-${sha(1).slice(0, 12)}` }])
  expect(opened).toMatchObject({ stage, marker: { path: '.handoff-marker', sha256: sha256('a-secret\n') } })
  expect([text(`${directory}/.handoff-marker`), text(`${stage}/.handoff-marker`)]).toEqual(['a-secret\n', 'a-secret\n'])
  expect(events).toEqual([{ type: 'token-issued', id: opened.token.id }])
})

test('a token is revoked once, however often it is asked for and when it is disposed of', async () => {
  const opened = await open()
  expect(living()).toBe(1)
  await Promise.all([opened.revoke(), opened.revoke()])
  await opened[Symbol.asyncDispose]()
  expect(living()).toBe(0)
  expect(there.drive.requests.filter(({ path }) => path.includes(opened.token.id))).toHaveLength(1)
})

test('a sandbox that answers may read the run directory and nothing else', async () => {
  await using opened = await openSealed(ports(), directory, 60, never)
  expect(tokens()).toMatchObject([{ id: opened.token.id, scopes: [{ prefix: directory, ops: ['read', 'list'] }] }])
})

test('a directory that was started before is refused, its marker stays, and no token is left', async () => {
  await open()
  await expect(open('other')).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('was started before'),
  })
  expect([text(`${directory}/.handoff-marker`), text(`${stage}/.handoff-marker`)]).toEqual(['a-secret\n', 'a-secret\n'])
  expect(tokens().map(({ revoked }) => revoked)).toEqual([false, true])
})

test.each<[string, string]>([
  ['the claim', ''],
  ['the marker of the stage', '/stage'],
])('if %s cannot be written, no token is left', async (_, folder) => {
  const write: Drive['write'] = async (path, ...rest) => {
    if (path === `${directory}${folder}/.handoff-marker`) throw down
    return drive.write(path, ...rest)
  }
  await expect(open('a-secret', { ...drive, write })).rejects.toBe(down)
  expect(tokens().map(({ revoked }) => revoked)).toEqual([true])
})

test('if the token cannot be revoked either, the first error is reported', async () => {
  const broken: Drive = {
    ...drive,
    write: async () => {
      throw down
    },
    revokeToken: async () => {
      throw new HandoffError('drive', 'another error', { next: 'x' })
    },
  }
  await expect(open('a-secret', broken)).rejects.toBe(down)
})

test('without a token nothing is opened', async () => {
  const issueToken = async () => {
    throw down
  }
  await expect(open('a-secret', { ...drive, issueToken })).rejects.toBe(down)
  expect(text(`${stage}/.handoff-marker`)).toBeUndefined()
})

test('a token that arrives after its caller left is known, so that it can be revoked', async () => {
  const leaving = new AbortController()
  const issued = { id: 'a-token', secret: 'x', expiresAt: '2026-11-20T10:00:00Z' }
  const issueToken: Drive['issueToken'] = async (_, signal) => {
    leaving.abort()
    expect(signal.aborted).toBe(false)
    return issued
  }
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const opened = await openSealed(ports({ ...drive, issueToken }), directory, 60, leaving.signal)
  expect(timers()).toBe(before)
  expect(opened.token).toBe(issued)
  expect(events).toEqual([{ type: 'token-issued', id: issued.id }])
})

test('a token that does not arrive in two seconds is given up, and one for a caller that had left is not asked for', async () => {
  const leaving = new AbortController()
  const seen: unknown[] = []
  const issueToken: Drive['issueToken'] = (_, signal) =>
    new Promise((_resolve, reject) => {
      const end = () => {
        seen.push(signal.reason)
        reject(signal.reason)
      }
      if (signal.aborted) end()
      else signal.addEventListener('abort', end)
      leaving.abort(down)
    })
  const silent = { ...drive, issueToken }
  await expect(openSealed(ports(silent), directory, 60, leaving.signal)).rejects.toBe(down)
  await expect(openSealed(ports(silent), directory, 60, leaving.signal)).rejects.toBe(down)
  expect(seen).toEqual([down, down])
  expect(getEventListeners(leaving.signal, 'abort')).toEqual([])
})

test('a caller that stays leaves no listener', async () => {
  const { signal } = new AbortController()
  await openSealed(ports(), directory, 60, signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

// ── the stage ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const put = (...paths: string[]) => {
  for (const path of paths) there.drive.write(`${stage}/${path}`, path)
}

test('what was reported is moved, the rest is named and goes with the stage', async () => {
  put('.handoff-marker', 'project/a.tar', 'analysis/files.json', 'analysis/odd', 'project/deep/er/odd')
  put('project/.handoff-12.tmp', '.handoff-3.tmp', 'project/x.handoff-3.tmp', 'project/.handoff-3.tmp.x')
  const empty = await takeFromStage(drive, directory, ['project/a.tar', 'analysis/files.json'], never)
  expect(text(`${directory}/project/a.tar`)).toBe('project/a.tar')
  expect(text(`${stage}/project/a.tar`)).toBeUndefined()
  const left = ['analysis/odd', 'project/.handoff-3.tmp.x', 'project/x.handoff-3.tmp', 'project/deep/er/odd']
  expect((await empty()).toSorted()).toEqual(left.toSorted())
  expect(there.files(stage)).toEqual([])
  expect(there.files(directory)).toEqual([`${directory}/analysis/files.json`, `${directory}/project/a.tar`])
})

test('each folder of a stage is listed once', async () => {
  put('a/b/x', 'c/x')
  const empty = await takeFromStage(drive, directory, [], never)
  const before = there.drive.requests.length
  expect(await empty()).toHaveLength(2)
  expect(there.drive.requests.slice(before).filter(({ method }) => method === 'GET')).toHaveLength(4)
})

test('a stage of many files and folders costs fifty lists at most', async () => {
  put(...Array.from({ length: 60 }, (_, index) => `folder-${index}/deeper/x`))
  const empty = await takeFromStage(drive, directory, [], never)
  const before = there.drive.requests.length
  const left = await empty()
  const lists = there.drive.requests.slice(before).filter(({ method }) => method === 'GET')
  expect(lists).toHaveLength(50)
  expect(left).toEqual([])
  expect(there.files(stage)).toEqual([])
})

test('the search for files that were not reported ends when there are more than twenty', async () => {
  const folders = Array.from({ length: 30 }, (_, index) => `folder-${String(index).padStart(2, '0')}`)
  put(...folders.map((folder) => `${folder}/odd`))
  const empty = await takeFromStage(drive, directory, [], never)
  expect(await empty()).toHaveLength(21)
  expect(there.files(stage)).toEqual([])
})
