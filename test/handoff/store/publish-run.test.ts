// A run becomes visible in one step, and exactly one run speaks for a commit: also after a maker died, while a removal is under way, and when another
// process writes in between.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HandoffError } from '../../../src/handoff/domain/errors.js'
import {
  type CommitPointer,
  decodeHandoff,
  decodePointer,
  encodeHandoff,
  encodePointer,
} from '../../../src/handoff/domain/handoff-record.js'
import type { Drive } from '../../../src/handoff/domain/ports.js'
import { artifact, makeRunId, type RunId } from '../../../src/handoff/domain/run.js'
import { encodeTombstone } from '../../../src/handoff/domain/tombstone.js'
import { findSealed } from '../../../src/handoff/store/find-sealed.js'
import { seal, writeOnce, writePointer } from '../../../src/handoff/store/publish-run.js'
import { sha256 } from '../../../src/handoff/store/run-store.js'
import { type ManualClock, manualClock } from '../../support/clock.js'
import { makeStoredRuns, type StoredRuns, sha } from '../../support/stored-runs.js'

let there: StoredRuns
let drive: Drive
/** Ends what would wait or repeat for ever. */
let signal: AbortSignal
let clock: ManualClock
const commit = sha(1)

beforeEach(async () => {
  there = await makeStoredRuns()
  drive = there.context.ports.drive
  signal = AbortSignal.timeout(30_000)
  clock = manualClock({ start: there.time.now, jump: true })
})
afterEach(() => there[Symbol.asyncDispose]())

const pointerPath = () => there.place.pointer(commit)
const bytesAt = (path: string) => there.drive.readFile(path)?.toString()
const canonical = () => decodePointer(there.drive.readFile(pointerPath())!).run
const handoffPath = (run: RunId) => `${there.place.run(run)}/${artifact.handoff}`
const pointerTo = (run: RunId): CommitPointer => ({
  version: 1,
  run,
  handoff: sha256(there.drive.readFile(handoffPath(run))!),
  sealedAt: new Date(there.time.now).toISOString(),
})
const put = (pointer: CommitPointer) => there.drive.write(pointerPath(), encodePointer(pointer))

/** A run that was sealed, and whose maker died before it wrote the pointer. */
const hidden = (name: string, days = 0) => there.sealed(commit, { name, days, pointed: false })

const removed = (run: string, minutesAgo = 0) =>
  encodeTombstone({
    version: 1,
    removed: run,
    removedAt: new Date(there.time.now - minutesAgo * 60_000).toISOString(),
  })

/** The drive, on which something happens right before a call. */
function before<K extends 'read' | 'write' | 'stat'>(name: K, path: string, happen: () => void): Drive {
  let calls = 0
  const call = (async (...given: Parameters<Drive[K]>) => {
    if (given[0] === path && calls++ === 0) happen()
    return (drive[name] as (...all: unknown[]) => unknown)(...given)
  }) as Drive[K]
  return { ...drive, [name]: call }
}

const failing = (name: 'read' | 'write' | 'digest' | 'list', path: string): Drive => ({
  ...drive,
  [name]: async (asked: string, ...rest: unknown[]) => {
    if (asked === path) throw new HandoffError('drive', 'drive9 is down.', { next: 'Wait.' })
    return (drive[name] as (...all: unknown[]) => unknown)(asked, ...rest)
  },
})

// ── files that are written once ───────────────────────────────────────────────────────────────────────────────────────────────────

test('a file is written once: the same bytes once more are no conflict, other bytes are', async () => {
  const write = (text: string, on = drive) => writeOnce(on, '/x/once', Buffer.from(text), signal)
  await write('first')
  await write('first')
  await expect(write('other')).rejects.toMatchObject({ code: 'conflict' })
  await expect(write('first', failing('write', '/x/once'))).rejects.toMatchObject({ code: 'drive' })
  expect(bytesAt('/x/once')).toBe('first')
})

test('the seal is written last: without all that stands before it there is none', async () => {
  const run = await there.sealed(sha(2))
  const handoff = { ...decodeHandoff(there.drive.readFile(handoffPath(run))!), run: makeRunId(commit, 'a'), commit }
  const late = { path: 'analysis/code-summary.md', bytes: Buffer.from('# Summary') }
  const broken = failing('write', `${there.place.run(handoff.run)}/${late.path}`)
  await expect(seal(broken, there.place, handoff, [late], signal)).rejects.toMatchObject({ code: 'drive' })
  expect(bytesAt(handoffPath(handoff.run))).toBeUndefined()
  const noted = failing('write', there.place.sealNote(handoff.run))
  await expect(seal(noted, there.place, handoff, [late], signal)).rejects.toMatchObject({ code: 'drive' })
  expect(bytesAt(handoffPath(handoff.run))).toBeUndefined()
  const pointer = await seal(drive, there.place, handoff, [late], signal)
  expect(pointer).toEqual({
    version: 1,
    run: handoff.run,
    handoff: sha256(encodeHandoff(handoff)),
    sealedAt: handoff.sealedAt,
  })
  expect(bytesAt(`${there.place.run(handoff.run)}/${late.path}`)).toBe('# Summary')
  expect(decodePointer(there.drive.readFile(there.place.sealNote(handoff.run))!)).toEqual(pointer)
})

// ── the pointer ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const write = (run: RunId, seen: number, on = drive) =>
  writePointer({ drive: on, clock }, there.place, pointerTo(run), seen, signal).then(({ run: found }) => found)

test('of two runs the one that points first speaks for the commit', async () => {
  const [one, two] = [await hidden('one'), await hidden('two')]
  expect(await write(one, 0)).toBe(one)
  expect(await write(two, 0)).toBe(one)
  expect(canonical()).toBe(one)
})

test('a run replaces the one that it saw, and no other', async () => {
  const [one, two, three] = [await hidden('one'), await hidden('two'), await hidden('three')]
  await write(one, 0)
  expect(await write(two, 1)).toBe(two)
  expect(await write(three, 1)).toBe(two)
  expect(canonical()).toBe(two)
})

test('a pointer to a run that is gone is replaced', async () => {
  const [one, two] = [await hidden('one'), await hidden('two')]
  await write(one, 0)
  there.drive.write(handoffPath(one), removed(one))
  expect(await write(two, 0)).toBe(two)
  expect(canonical()).toBe(two)
  const unseen = failing('read', handoffPath(two))
  await expect(write(await hidden('three'), 0, unseen)).rejects.toMatchObject({ code: 'drive' })
  expect(canonical()).toBe(two)
})

test('a run whose predecessor was removed meanwhile takes its place', async () => {
  const [one, two] = [await hidden('one'), await hidden('two')]
  await write(one, 0)
  there.drive.remove(pointerPath())
  expect(await write(two, 1)).toBe(two)
})

test('a removal that is under way is waited for, longer each time', async () => {
  const run = await hidden('one')
  there.drive.write(pointerPath(), removed('old'))
  const { sleep } = clock
  clock.sleep = async (milliseconds, signal) => {
    if (clock.slept.length === 8) there.drive.remove(pointerPath())
    if (clock.slept.length > 8) throw new Error('It waits for ever.')
    return sleep(milliseconds, signal)
  }
  expect(await write(run, 0)).toBe(run)
  expect(clock.slept).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000])
})

test('the tombstone of a process that died is replaced at once', async () => {
  const run = await hidden('one')
  there.drive.write(pointerPath(), removed('old', 15))
  expect(await write(run, 0)).toBe(run)
  expect(clock.slept).toEqual([])
})

test('a tombstone that another run replaced in between is not replaced again', async () => {
  const [one, two] = [await hidden('one'), await hidden('two')]
  there.drive.write(pointerPath(), removed('old', 15))
  const meanwhile = before('read', pointerPath(), () => put(pointerTo(two)))
  // The tombstone is read, and then the other run points.
  const late: Drive = {
    ...drive,
    read: async (path, options) => {
      const bytes = await drive.read(path, options)
      if (path === pointerPath()) await meanwhile.read(path, options)
      return bytes
    },
  }
  expect(await write(one, 0, late)).toBe(two)
  expect(canonical()).toBe(two)
})

test('a drive that is down is no conflict', async () => {
  const run = await hidden('one')
  await expect(write(run, 0, failing('write', pointerPath()))).rejects.toMatchObject({ code: 'drive' })
})

// ── readers ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Options = Parameters<typeof findSealed>[4]
const find = (options?: Options, on = drive) =>
  findSealed({ drive: on, clock }, there.place, commit, signal, options).then((found) => found?.handoff.run)

test('a run with a pointer is found with two reads', async () => {
  const run = await there.sealed(commit)
  const reads = there.drive.requests.length
  expect(await find()).toBe(run)
  expect(there.drive.requests.slice(reads).map(({ method }) => method)).toEqual(['GET', 'GET'])
})

test('without a pointer and a record there is no run', async () => {
  there.drive.write(there.place.checkpoint(commit), '{}')
  await there.sealed(sha(2), { pointed: false })
  const reads = there.drive.requests.length
  expect(await find()).toBeUndefined()
  expect(there.drive.requests.length - reads, 'the pointer and the list of records').toBe(2)
})

test('a run whose maker died before the pointer gets it from the next reader', async () => {
  const run = await hidden('one')
  expect(await find()).toBe(run)
  expect(canonical()).toBe(run)
})

test('a reader that may not write finds it too, and writes nothing', async () => {
  const run = await hidden('one')
  expect(await find({ readOnly: true })).toBe(run)
  for (const [gone, found] of [
    ['old', run],
    [run, undefined],
  ] as const) {
    there.drive.write(pointerPath(), removed(gone))
    expect(await find({ readOnly: true })).toBe(found)
    expect(bytesAt(pointerPath())).toBe(Buffer.from(removed(gone)).toString())
  }
})

test('a reader that may not write looks again when a run points meanwhile', async () => {
  const [one, two] = [await hidden('one'), await hidden('two', 1)]
  const pointsAfterList = before('read', there.place.sealNote(one), () => put(pointerTo(two)))
  expect(await find({ readOnly: true }, pointsAfterList)).toBe(two)
  there.drive.remove(pointerPath())
  there.drive.remove(there.place.sealNote(two))
  // The record that is listed is gone when it is read, because another run speaks for the commit.
  const gone = before('read', there.place.sealNote(one), () => {
    there.drive.remove(there.place.sealNote(one))
    put(pointerTo(two))
  })
  expect(await find({ readOnly: true }, gone)).toBe(two)
})

test('a reader that may not write finds the run of a record in place of one that is gone, and leaves the pointer', async () => {
  const lost = await there.sealed(commit, { name: 'lost' })
  there.drive.remove(there.place.run(lost))
  await expect(find({ readOnly: true })).rejects.toMatchObject({ code: 'corrupt' })
  const run = await hidden('one')
  expect(await find({ readOnly: true })).toBe(run)
  expect(canonical()).toBe(lost)
})

test('of several runs without a pointer the newest is found, and of two of one moment the first by name', async () => {
  await hidden('c', 2)
  const newest = await hidden('b', 1)
  await hidden('a', 3)
  expect(await find()).toBe(newest)
  there.drive.remove(pointerPath())
  const same = await hidden('aa', 1)
  const reversed: Drive = { ...drive, list: async (...asked) => (await drive.list(...asked)).toReversed() }
  expect(await find({}, reversed)).toBe(same)
})

test('a run that must not become canonical gets no pointer', async () => {
  await hidden('one')
  const check = () => {
    throw new HandoffError('forbidden', 'x', { next: 'x' })
  }
  await expect(find({ check })).rejects.toMatchObject({ code: 'forbidden' })
  expect(bytesAt(pointerPath())).toBeUndefined()
})

test.each<[string, (run: RunId) => void]>([
  ['is no record', (run) => there.drive.write(there.place.sealNote(run), 'no json')],
  ['vouches for other bytes', (run) => there.drive.write(handoffPath(run), '{}')],
  ['vouches for a run without a seal', (run) => there.drive.remove(handoffPath(run))],
])('a record that %s is left out', async (_, damage) => {
  damage(await hidden('two'))
  expect(await find({ check: () => undefined })).toBeUndefined()
  const run = await hidden('one', 1)
  expect(await find()).toBe(run)
})

test('a file that is no record vouches for nothing', async () => {
  const run = await hidden('one')
  const note = there.place.sealNote(run)
  there.drive.write(note.replace('.sealing.json', '.other.json'), there.drive.readFile(note)!)
  there.drive.remove(note)
  expect(await find()).toBeUndefined()
})

test('a record that vanishes while it is read is none, and a drive that is down is an error', async () => {
  const note = there.place.sealNote(await hidden('one'))
  await expect(find({}, failing('read', note))).rejects.toMatchObject({ code: 'drive' })
  await expect(find({}, failing('list', there.place.commits))).rejects.toMatchObject({ code: 'drive' })
  await expect(find({}, failing('read', pointerPath()))).rejects.toMatchObject({ code: 'drive' })
  const once = new HandoffError('drive', 'One read failed.', { next: 'Wait.' })
  const failsOnce = () => {
    throw once
  }
  await expect(find({}, before('read', pointerPath(), failsOnce))).rejects.toBe(once)
  expect(
    await find(
      {},
      before('read', note, () => there.drive.remove(note)),
    ),
  ).toBeUndefined()
})

// ── broken pointers ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a pointer whose run is gone is corrupt, unless another run is vouched for', async () => {
  const lost = await there.sealed(commit, { name: 'lost' })
  there.drive.remove(there.place.run(lost))
  await expect(find()).rejects.toMatchObject({ code: 'corrupt', message: expect.stringContaining(lost) })
  const run = await hidden('one')
  expect(await find()).toBe(run)
  expect(canonical()).toBe(run)
})

test('a pointer to other bytes than those of its run does not become true by a record', async () => {
  const run = await hidden('one')
  put({ ...pointerTo(run), handoff: 'f'.repeat(64) })
  await expect(find()).rejects.toMatchObject({ code: 'corrupt' })
})

test('a pointer that is repaired while it is read is read again', async () => {
  const [lost, run] = [await there.sealed(commit, { name: 'lost' }), await hidden('one')]
  there.drive.remove(there.place.run(lost))
  there.drive.remove(there.place.sealNote(run))
  expect(
    await find(
      {},
      before('stat', pointerPath(), () => put(pointerTo(run))),
    ),
  ).toBe(run)
})

test.each<[string, () => void]>([
  ['vanishes', () => there.drive.remove(pointerPath())],
  ['becomes a tombstone', () => there.drive.write(pointerPath(), removed('lost'))],
])('a broken pointer that %s while it is read is none', async (_, happen) => {
  const lost = await there.sealed(commit, { name: 'lost' })
  there.drive.remove(there.place.run(lost))
  expect(await find({}, before('stat', pointerPath(), happen))).toBeUndefined()
})

test('a drive that fails while a broken pointer is read again is an error, and no record takes its place', async () => {
  const lost = await there.sealed(commit, { name: 'lost' })
  there.drive.remove(there.place.run(lost))
  await hidden('one')
  let reads = 0
  // Once to follow the pointer, and once to follow it again.
  const failingSecond: Drive = {
    ...drive,
    async read(path, options) {
      reads += path === handoffPath(lost) ? 1 : 0
      if (reads === 2) throw new HandoffError('drive', 'One read failed.')
      return drive.read(path, options)
    },
  }
  await expect(find({}, failingSecond)).rejects.toMatchObject({ code: 'drive' })
  expect(canonical()).toBe(lost)
})

test('a reader that repairs a pointer loses against a run that points meanwhile, and finds that one', async () => {
  const [one, two] = [await hidden('one'), await hidden('two', 1)]
  expect(
    await find(
      {},
      before('write', pointerPath(), () => put(pointerTo(two))),
    ),
  ).toBe(two)
  there.drive.remove(pointerPath())
  expect(
    await find(
      {},
      before('write', pointerPath(), () => put(pointerTo(one))),
    ),
  ).toBe(one)
})

test('a broken pointer is replaced at the revision at which it was seen', async () => {
  const [lost, one, two] = [await there.sealed(commit, { name: 'lost' }), await hidden('one'), await hidden('two', 1)]
  there.drive.remove(there.place.run(lost))
  expect(
    await find(
      {},
      before('write', pointerPath(), () => put(pointerTo(two))),
    ),
  ).toBe(two)
  expect(one).not.toBe(two)
})

test('a reader does not wait for a removal: it finds another run, and not the one that is removed', async () => {
  const run = await hidden('one')
  there.drive.write(pointerPath(), removed('old'))
  expect(await find()).toBe(run)
  there.drive.write(pointerPath(), removed(run))
  expect(await find()).toBeUndefined()
  expect(clock.slept).toEqual([])
})
