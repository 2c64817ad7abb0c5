// What a reader believes: a pointer, then the handoff with the pointer's hash; and of a sandbox's files each by its size and hash.
import { expect, test } from 'vitest'
import { encodeAnswer } from '../../../src/handoff/domain/answer.js'
import { encodeHandoff, encodePointer } from '../../../src/handoff/domain/handoff-record.js'
import type { Drive } from '../../../src/handoff/domain/ports.js'
import { artifact, layout, makeRunId, parseRepository, type RunId } from '../../../src/handoff/domain/run.js'
import { encodeTombstone } from '../../../src/handoff/domain/tombstone.js'
import { readAnswer, readSealed, sha256, verifyStored } from '../../../src/handoff/store/run-store.js'
import { answerRecord, handoffRecord } from '../../support/records.js'

const never = new AbortController().signal
const sha = 'a'.repeat(40)
const place = layout('/handoff', parseRepository('octo/tools', 'github.com'))
const [run, other] = [makeRunId(sha, 'one'), makeRunId(sha, 'two')]
const pathOf = (of: RunId) => `${place.run(of)}/${artifact.handoff}`

/** Files in memory, and the reads of them. */
function driveWith(files: Record<string, Uint8Array>) {
  const reads: string[] = []
  const drive = {
    async read(path) {
      reads.push(path)
      return files[path] ?? null
    },
    async digest(path) {
      const bytes = files[path]
      return bytes ? { bytes: bytes.length, sha256: sha256(bytes) } : null
    },
  } as Pick<Drive, 'read' | 'digest'> as Drive
  return { drive, reads }
}

const handoff = (of: RunId = run, commit = sha) => handoffRecord({ run: of, commit })

const pointerTo = (bytes: Uint8Array, of = run) =>
  encodePointer({ version: 1, run: of, handoff: sha256(bytes), sealedAt: '2026-11-19T10:00:00Z' })
const sealed = encodeHandoff(handoff())
const files = { [place.pointer(sha)]: pointerTo(sealed), [pathOf(run)]: sealed }
const read = (stored: Record<string, Uint8Array>, expected?: RunId) =>
  readSealed(driveWith(stored).drive, place, sha, never, expected)

test('a run is read by its pointer, whichever run is expected', async () => {
  for (const expected of [undefined, run, other])
    expect(await read(files, expected)).toMatchObject({ handoff: { run }, pointer: { run } })
})

test('an expected run costs two reads, also one that is not there', async () => {
  const { drive, reads } = driveWith(files)
  await readSealed(drive, place, sha, never, run)
  expect(reads.toSorted()).toEqual([place.pointer(sha), pathOf(run)].toSorted())
})

test('a handoff that was read before its pointer is read again', async () => {
  const { drive } = driveWith(files)
  const older = [Buffer.from('older')]
  const early: Drive = {
    ...drive,
    read: async (path, options) => (path === pathOf(run) && older.shift()) || drive.read(path, options),
  }
  expect(await readSealed(early, place, sha, never, run)).toMatchObject({ handoff: { run } })
})

test('without a pointer, and behind a tombstone, there is no run', async () => {
  const tombstone = encodeTombstone({ version: 1, removed: run, removedAt: '2026-11-19T10:00:00Z' })
  expect(await read({ [pathOf(run)]: sealed }, run)).toBeUndefined()
  expect(await read({ ...files, [place.pointer(sha)]: tombstone }, run)).toBeUndefined()
})

const foreign = encodeHandoff(handoff(other))
const ofOtherCommit = encodeHandoff(handoff(run, 'b'.repeat(40)))

test.each<[string, Record<string, Uint8Array>, string]>([
  ['gone', { [place.pointer(sha)]: pointerTo(sealed) }, 'is gone'],
  [
    'changed',
    { ...files, [pathOf(run)]: encodeHandoff({ ...handoff(), secrets: 1 }) },
    'is not the one that was sealed',
  ],
  ['of another run', { [place.pointer(sha)]: pointerTo(foreign), [pathOf(run)]: foreign }, 'is of another run'],
  [
    'of another commit',
    { [place.pointer(sha)]: pointerTo(ofOtherCommit), [pathOf(run)]: ofOtherCommit },
    'is of another run',
  ],
])('a handoff that is %s is corrupt', async (_, stored, words) => {
  for (const expected of [undefined, run])
    await expect(read(stored, expected)).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining(words),
    })
})

const bytes = Buffer.from('a clone')
const stored = { path: 'project/tools.git.tar', bytes: bytes.length, sha256: sha256(bytes) }
const verify = (found: Record<string, Uint8Array>, wanted = [stored]) =>
  verifyStored(driveWith(found).drive, '/run', wanted, never)

test('stored files are verified by size and hash, all of them', async () => {
  const many = Array.from({ length: 20 }, (_, index) => ({ ...stored, path: `files/${index}` }))
  const there = Object.fromEntries(many.map(({ path }) => [`/run/${path}`, bytes]))
  await verify(there, many)
  await verify({}, [])
  await expect(verify({ ...there, '/run/files/19': Buffer.from('a cl0ne') }, many)).rejects.toThrow('files/19')
})

test.each<[string, Record<string, Uint8Array>, object, string]>([
  ['is absent', {}, {}, 'is not there'],
  ['has other bytes of the same size', { '/run/project/tools.git.tar': Buffer.from('a cl0ne') }, {}, 'has other bytes'],
  ['has another size than was reported', { '/run/project/tools.git.tar': bytes }, { bytes: 8 }, 'has other bytes'],
])('a stored file that %s ends the run', async (_, found, reported, words) => {
  await expect(verify(found, [{ ...stored, ...reported }])).rejects.toMatchObject({
    code: 'drive',
    message: expect.stringContaining(words),
  })
})

test('an answer is read as it was stored, and is absent where nothing is stored', async () => {
  const record = answerRecord({ run })
  const directory = place.run(run)
  const { drive } = driveWith({ [`${directory}/${artifact.answer(record.id)}`]: encodeAnswer(record) })
  expect(await readAnswer({ drive, directory, id: record.id }, never)).toMatchObject({ id: record.id, status: 'done' })
  expect(await readAnswer({ drive, directory, id: 'b'.repeat(32) }, never)).toBe(undefined)
})
