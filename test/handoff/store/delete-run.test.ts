// What a removal deletes and what it keeps, also when another process writes, seals or asks in between.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HandoffError } from '../../../src/handoff/domain/errors.js'
import { decodePointer, encodePointer } from '../../../src/handoff/domain/handoff-record.js'
import type { Drive } from '../../../src/handoff/domain/ports.js'
import { artifact, type RunId } from '../../../src/handoff/domain/run.js'
import { encodeTombstone, readTombstone } from '../../../src/handoff/domain/tombstone.js'
import {
  removeEmptied,
  removeEmpty,
  removeFile,
  removeNonCanonical,
  removePointer,
  removeSealed,
  removeUnsealed,
} from '../../../src/handoff/store/delete-run.js'
import { sha256 } from '../../../src/handoff/store/run-store.js'
import { makeStoredRuns, type StoredRuns, sha } from '../../support/stored-runs.js'

let there: StoredRuns
let drive: Drive
/** Ends what would wait or repeat for ever. */
let signal: AbortSignal
const commit = sha(1)

beforeEach(async () => {
  there = await makeStoredRuns()
  drive = there.context.ports.drive
  signal = AbortSignal.timeout(30_000)
})
afterEach(() => there[Symbol.asyncDispose]())

const pointerPath = () => there.place.pointer(commit)
const text = (path: string) => there.drive.readFile(path)?.toString()
const tools = (on = drive) => ({ drive: on, clock: there.context.ports.clock })
const listed = async (path: string) => ({ path, bytes: 1, revision: (await drive.stat(path, signal))!.revision })
const since = () => new Date(there.time.now).toISOString()
const answer = (run: RunId) => `${there.place.run(run)}/${artifact.answers}/${'0'.repeat(32)}.json`
const tombstone = () => encodeTombstone({ version: 1, removed: 'x', removedAt: new Date(there.time.now).toISOString() })
const changed = 'it was written again meanwhile'

function pointTo(run: RunId): void {
  const handoff = sha256(there.drive.readFile(`${there.place.run(run)}/${artifact.handoff}`)!)
  there.drive.write(pointerPath(), encodePointer({ version: 1, run, handoff, sealedAt: since() }))
}

/** The drive, on which something happens before or after its first call for a path. */
function on<K extends 'read' | 'write' | 'stat' | 'remove' | 'list'>(
  name: K,
  path: string,
  happen: { before?: () => void; after?: () => void },
): Drive {
  let calls = 0
  const call = async (...given: unknown[]) => {
    const isFirst = given[0] === path && calls++ === 0
    if (isFirst) happen.before?.()
    const result = await (drive[name] as (...all: unknown[]) => unknown)(...given)
    if (isFirst) happen.after?.()
    return result
  }
  return { ...drive, [name]: call as Drive[K] }
}

const down = new HandoffError('drive', 'drive9 is down.', { next: 'Wait.' })
const isDown = (name: 'read' | 'write' | 'remove' | 'stat' | 'list', path: string) =>
  on(name, path, {
    before: () => {
      throw down
    },
  })

// ── single files ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a file goes as it was listed; one that was written since stays, and one that is gone is no failure', async () => {
  there.drive.write('/x/a', '1')
  const file = await listed('/x/a')
  there.drive.write('/x/a', '2')
  expect(await removeFile(drive, file, signal)).toBe(changed)
  expect(text('/x/a')).toBe('2')
  expect(await removeFile(drive, await listed('/x/a'), signal)).toBeUndefined()
  expect(text('/x/a')).toBeUndefined()
  expect(await removeFile(drive, file, signal)).toBeUndefined()
})

test('a pointer goes as it was listed, by a tombstone', async () => {
  await there.sealed(commit)
  const pointer = await listed(pointerPath())
  const seen: unknown[] = []
  const watched = on('remove', pointerPath(), {
    before: () => seen.push(readTombstone(there.drive.readFile(pointerPath())!)),
  })
  expect(await removePointer(tools(watched), pointer, signal)).toBeUndefined()
  expect(seen).toEqual([{ version: 1, removed: '', removedAt: since() }])
  expect(text(pointerPath())).toBeUndefined()
  expect(await removePointer(tools(), pointer, signal)).toBeUndefined()
  there.drive.write(pointerPath(), 'a')
  there.drive.write(pointerPath(), 'b')
  expect(await removePointer(tools(), { ...pointer, revision: 1 }, signal)).toBe(changed)
  expect(text(pointerPath())).toBe('b')
  await expect(removePointer(tools(isDown('write', pointerPath())), pointer, signal)).rejects.toBe(down)
})

test('a tombstone that another process replaced stays, and so does one whose removal took too long', async () => {
  await there.sealed(commit)
  const replaced = on('write', pointerPath(), { after: () => there.drive.write(pointerPath(), 'new') })
  expect(await removePointer(tools(replaced), await listed(pointerPath()), signal)).toBe(changed)
  expect(text(pointerPath())).toBe('new')
  const vanished = on('write', pointerPath(), { after: () => there.drive.remove(pointerPath()) })
  expect(await removePointer(tools(vanished), await listed(pointerPath()), signal)).toBeUndefined()
  for (const [minutes, kept] of [
    [5 * 60_000, undefined],
    [5 * 60_000 + 1, 'its removal took too long; the next prune ends it'],
  ] as const) {
    there.drive.write(pointerPath(), 'again')
    const slow = on('write', pointerPath(), { after: () => (there.time.now += minutes) })
    expect(await removePointer(tools(slow), await listed(pointerPath()), signal)).toBe(kept)
  }
  expect(readTombstone(there.drive.readFile(pointerPath())!)).toBeDefined()
})

// ── a sealed run ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const removing = async (run: RunId, on = drive, after = since()) => {
  const pointer = await listed(pointerPath())
  return removeSealed(tools(on), { place: there.place, run, pointer, since: after }, signal)
}

test('a sealed run goes with its pointer and its record, pointer first', async () => {
  const run = await there.sealed(commit)
  there.drive.write(there.place.sealNote(run), text(pointerPath())!)
  const left: string[][] = []
  const watched = on('remove', there.place.run(run), { before: () => left.push(there.files(there.place.commits)) })
  expect(await removing(run, watched)).toBeUndefined()
  expect(left).toEqual([[]])
  expect(there.files()).toEqual([])
})

test('a run whose pointer is gone goes without one', async () => {
  const run = await there.sealed(commit)
  const pointer = await listed(pointerPath())
  there.drive.remove(pointerPath())
  const plan = { place: there.place, run, pointer, since: since() }
  expect(await removeSealed(tools(), plan, signal)).toBeUndefined()
  expect(there.files()).toEqual([])
})

test('a run stays whole if its pointer was written again', async () => {
  const run = await there.sealed(commit)
  const pointer = await listed(pointerPath())
  pointTo(run)
  const before = there.files()
  const plan = { place: there.place, run, pointer, since: since() }
  expect(await removeSealed(tools(), plan, signal)).toBe(changed)
  expect(there.files()).toEqual(before)
})

test.each<[string, (run: RunId) => void, string | undefined]>([
  ['a ref that points to it', () => there.ref('refs/heads/main', commit), 'refs/heads/main points to it now'],
  ['a ref that points to another commit', () => there.ref('refs/heads/main', sha(2)), undefined],
  [
    'a question after the plan',
    (run) => later(() => there.drive.write(answer(run), '{}')),
    'a question about it is recent',
  ],
  ['a question of before the plan', (run) => there.drive.write(answer(run), '{}'), undefined],
])('a run with %s', async (_, need, kept) => {
  const run = await there.sealed(commit)
  const after = since()
  const pointer = text(pointerPath())
  need(run)
  expect(await removing(run, drive, after)).toBe(kept)
  expect(text(pointerPath())).toBe(kept === undefined ? undefined : pointer)
  expect(there.files(there.place.run(run)).length > 0).toBe(kept !== undefined)
})

function later(work: () => void): void {
  there.time.now += 5_000
  work()
}

test('a run stays if its tombstone was replaced, and a needed one is put back only in its place', async () => {
  const run = await there.sealed(commit)
  const replaced = on('remove', there.place.sealNote(run), { before: () => pointTo(run) })
  expect(await removing(run, replaced)).toBe(changed)
  expect(decodePointer(there.drive.readFile(pointerPath())!).run).toBe(run)
  expect(there.files(there.place.run(run))).not.toEqual([])
  there.ref('refs/heads/main', commit)
  const other = await there.sealed(commit, { name: 'other', pointed: false })
  const folder = `${there.place.run(run)}/${artifact.answers}`
  await expect(removing(run, on('list', folder, { before: () => pointTo(other) }))).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(decodePointer(there.drive.readFile(pointerPath())!).run).toBe(other)
})

// ── an attempt that was not sealed ────────────────────────────────────────────────────────────────────────────────────────────────

const sealPath = (run: RunId) => `${there.place.run(run)}/${artifact.handoff}`
const unsealed = (run: RunId, on = drive) => removeUnsealed(tools(on), there.place, run, signal)

test('an attempt is emptied but for the tombstone that keeps it from being sealed', async () => {
  const run = there.attempt(commit, ['project/a/b', 'analysis/files.json', 'analysis/qa/x.json', 'stage/project/y'])
  there.drive.write(there.place.sealNote(run), '{}')
  expect(await unsealed(run)).toBeUndefined()
  expect(there.files()).toEqual([sealPath(run)])
  expect(readTombstone(there.drive.readFile(sealPath(run))!)).toEqual({ version: 1, removed: run, removedAt: since() })
})

test('a folder of an attempt that cannot be removed is left for the next time', async () => {
  const run = there.attempt(commit, ['analysis/qa/x.json'])
  const folder = `${there.place.run(run)}/${artifact.answers}`
  const refuse = there.drive.rule({
    method: 'DELETE',
    path: new RegExp(`${artifact.answers}\\?`),
    fault: { kind: 'answer', status: 403 },
  })
  await expect(unsealed(run)).rejects.toThrow('The key may not do this')
  expect(there.files(folder)).toEqual([`${folder}/x.json`])
  refuse()
  expect(await unsealed(run)).toBeUndefined()
  expect(there.files()).toEqual([sealPath(run)])
})

test('an attempt that has a tombstone is emptied, and one that was sealed meanwhile stays', async () => {
  const run = there.attempt(commit, ['project/a'])
  there.drive.write(sealPath(run), tombstone())
  expect(await unsealed(run)).toBeUndefined()
  expect(there.files()).toEqual([sealPath(run)])
  const sealed = await there.sealed(sha(2))
  const before = there.files(there.place.run(sealed))
  expect(await unsealed(sealed)).toBe('it was sealed meanwhile')
  expect(there.files(there.place.run(sealed))).toEqual(before)
})

test('an attempt whose seal vanishes while it is looked at counts as marked', async () => {
  const run = there.attempt(commit, ['project/a'])
  there.drive.write(sealPath(run), '{}')
  const vanishing = on('read', sealPath(run), { before: () => there.drive.remove(sealPath(run)) })
  expect(await unsealed(run, vanishing)).toBeUndefined()
  expect(there.files()).toEqual([])
})

test('a full account is emptied first; a drive that is down is not taken for a full one', async () => {
  const run = there.attempt(commit, ['project/a', 'analysis/files.json'])
  there.drive.setQuota({ files: 3 })
  expect(await unsealed(run)).toBeUndefined()
  expect(there.files()).toEqual([sealPath(run)])
  const other = there.attempt(sha(2), ['project/a'])
  const before = there.files()
  await expect(unsealed(other, isDown('write', sealPath(other)))).rejects.toBe(down)
  expect(there.files()).toEqual(before)
})

test('an attempt that is sealed while a full account is emptied goes with its pointer and record', async () => {
  const run = there.attempt(commit, ['project/a'])
  there.drive.setQuota({ files: 2 })
  const files = `${there.place.run(run)}/project`
  const sealedNow = on('remove', files, {
    after: () => {
      there.drive.setQuota({})
      there.drive.write(sealPath(run), '{}')
      there.drive.write(there.place.sealNote(run), '{}')
      pointTo(run)
    },
  })
  expect(await unsealed(run, sealedNow)).toBeUndefined()
  expect(there.files()).toEqual([])
})

test('the rest of an attempt goes as a whole', async () => {
  const run = there.attempt(commit, ['project/a'])
  expect(await removeEmptied(drive, there.place, run, signal)).toBeUndefined()
  expect(there.files()).toEqual([])
})

// ── a sealed run without a pointer ────────────────────────────────────────────────────────────────────────────────────────────────

const nonCanonical = (run: RunId, on = drive) => removeNonCanonical(tools(on), there.place, run, signal)

test('a run that another one replaced goes with its record, and the other one stays', async () => {
  const speaks = await there.sealed(commit, { name: 'speaks' })
  const other = await there.sealed(commit, { name: 'other', pointed: false })
  expect(await nonCanonical(other)).toBeUndefined()
  expect(there.files(there.place.run(other))).toEqual([])
  expect(there.files(there.place.commits)).toEqual([pointerPath()])
  expect(there.files(there.place.run(speaks))).not.toEqual([])
})

test('a run that came to speak for its commit stays', async () => {
  const run = await there.sealed(commit)
  expect(await nonCanonical(run)).toBe('it came to speak for its commit meanwhile')
  expect(there.files(there.place.run(run))).not.toEqual([])
})

test.each<[string, () => void]>([
  ['no pointer', () => there.drive.remove(pointerPath())],
  ['a tombstone', () => there.drive.write(pointerPath(), tombstone())],
])('a run whose commit has %s goes', async (_, prepare) => {
  const run = await there.sealed(commit)
  prepare()
  const before = text(pointerPath())
  expect(await nonCanonical(run)).toBeUndefined()
  expect(there.files(there.place.run(run))).toEqual([])
  expect(text(pointerPath())).toBe(before)
})

test('a pointer that a late recovery wrote goes after its run, unless it was written again', async () => {
  const late = async (happen: (run: RunId) => Drive) => {
    const run = await there.sealed(commit, { pointed: false })
    expect(await nonCanonical(run, happen(run))).toBeUndefined()
    return text(pointerPath())
  }
  const recover = (run: RunId) => on('remove', there.place.run(run), { before: () => pointTo(run) })
  expect(await late(recover)).toBeUndefined()
  const again = (run: RunId): Drive => {
    const { remove } = recover(run)
    return { ...on('stat', pointerPath(), { after: () => there.drive.write(pointerPath(), 'another') }), remove }
  }
  await expect(late(again)).rejects.toMatchObject({ code: 'corrupt' })
  expect(text(pointerPath())).toBe('another')
})

// ── empty directories ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('empty directories go, one that was filled stays, and a stopped prune ends', async () => {
  there.drive.write('/x/empty/file', '1')
  there.drive.write('/x/full/file', '1')
  there.drive.remove('/x/empty/file')
  await removeEmpty(drive, ['/x/full', '/x/empty'], signal)
  expect(there.drive.tree('/x').map(({ path }) => path)).toEqual(['/x', '/x/full', '/x/full/file'])
  for (const code of ['cancelled', 'timeout'] as const) {
    const stopped = new HandoffError(code, 'x', { next: 'x' })
    const stopping = on('remove', '/x/full', {
      before: () => {
        throw stopped
      },
    })
    await expect(removeEmpty(stopping, ['/x/full'], signal)).rejects.toBe(stopped)
  }
  const defect = new TypeError('a defect')
  const broken = on('remove', '/x/full', {
    before: () => {
      throw defect
    },
  })
  await expect(removeEmpty(broken, ['/x/full'], signal)).rejects.toBe(defect)
})
