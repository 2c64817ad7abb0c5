// Lists a repository's directory on the drive: pointers and their runs, run directories, refs and leftovers. Only reads.
import { ignoreFailure, isHandoffError } from '../domain/errors.js'
import {
  type CommitPointer,
  decodePointer,
  decodeRef,
  type Handoff,
  type RefPointer,
  sealLimit,
} from '../domain/handoff-record.js'
import type { Drive, DriveEntry } from '../domain/ports.js'
import { artifact, type Layout, parseRunId, type RunId } from '../domain/run.js'
import { readTombstone, type Tombstone } from '../domain/tombstone.js'
import { mapConcurrent } from '../util/map-concurrent.js'
import { readHandoff } from './run-store.js'

/** Concurrent requests to the drive. */
export const concurrentRequests = 8

export interface StoredFile {
  path: string
  bytes: number
  revision: number
  /** When it was modified; absent if the drive does not say. */
  at?: string | undefined
}

/** `gone`: the run is missing. `marked`: a tombstone. `unreadable`: the content is invalid, or of a newer version. */
type PointerState =
  | { state: 'whole'; pointer: CommitPointer; handoff: Handoff }
  | { state: 'gone'; pointer: CommitPointer }
  | { state: 'marked'; mark: Tombstone }
  | { state: 'unreadable'; why: string }

type StoredPointer = StoredFile & PointerState & { sha: string }
/** `marked`: a tombstone. */
export type StoredRef = StoredFile & { ref: string; commit?: string; marked?: boolean }

export interface Inventory {
  place: Layout
  pointers: StoredPointer[]
  runs: { run: RunId; path: string }[]
  notes: (StoredFile & { run: RunId })[]
  checkpoints: StoredFile[]
  refs: StoredRef[]
  /** Paths with unexpected names. */
  strange: string[]
}

export async function listInventory(drive: Drive, place: Layout, signal: AbortSignal): Promise<Inventory> {
  const [commits, folders, refs] = await Promise.all([
    drive.list(place.commits, signal),
    drive.list(place.runs, signal),
    listRefs(drive, place, signal),
  ])
  const inventory: Inventory = { place, pointers: [], runs: [], notes: [], checkpoints: [], refs, strange: [] }
  const pointers: (StoredFile & { sha: string })[] = []
  for (const entry of commits) {
    const file = fileAt(place.commits, entry)
    const [, sha, rest] = /^([0-9a-f]{40})(.*)\.json$/.exec(entry.name) ?? []
    const note = rest?.endsWith('.sealing') ? runOf(`${sha}${rest.slice(0, -8)}`) : undefined
    if (sha !== undefined && rest === '') pointers.push({ ...file, sha })
    else if (rest === '.parts') inventory.checkpoints.push(file)
    else if (note) inventory.notes.push({ ...file, run: note })
    else inventory.strange.push(file.path)
  }
  for (const entry of folders) {
    const run = entry.isDirectory ? runOf(entry.name) : undefined
    if (run) inventory.runs.push({ run, path: place.run(run) })
    else inventory.strange.push(`${place.runs}/${entry.name}`)
  }
  inventory.pointers = await mapConcurrent(concurrentRequests, pointers, async (file) => ({
    ...file,
    ...(await follow(drive, place, file.path, signal)),
  }))
  return inventory
}

export const fileAt = (folder: string, entry: DriveEntry): StoredFile => ({
  path: `${folder}/${entry.name}`,
  bytes: entry.size,
  revision: entry.revision,
  at: entry.modifiedAt,
})

/** Parses the name of a run's folder. */
export function runOf(name: string): RunId | undefined {
  try {
    return parseRunId(name)
  } catch (error) {
    return ignoreFailure(error)
  }
}

/** Reads a pointer and its run. An invalid one is a state of the result, and no error. */
async function follow(drive: Drive, place: Layout, path: string, signal: AbortSignal): Promise<PointerState> {
  const bytes = await drive.read(path, { maxBytes: sealLimit, signal })
  const mark = bytes === null ? { version: 1 as const, removed: '', removedAt: '' } : readTombstone(bytes)
  if (mark || bytes === null) return { state: 'marked', mark: mark! }
  try {
    const pointer = decodePointer(bytes)
    const there = await drive.stat(`${place.run(pointer.run)}/${artifact.handoff}`, signal)
    if (there === null) return { state: 'gone', pointer }
    return { state: 'whole', pointer, handoff: await readHandoff(drive, place, pointer, signal) }
  } catch (error) {
    if (isHandoffError(error, 'corrupt') || isHandoffError(error, 'unknown-version'))
      return { state: 'unreadable', why: error.message }
    throw error
  }
}

/** Lists the stored refs with their commits. An unreadable file has no commit. */
export async function listRefs(drive: Drive, place: Layout, signal: AbortSignal): Promise<StoredRef[]> {
  const kinds = ['heads', 'pull'] as const
  const listed = await Promise.all(kinds.map((kind) => drive.list(`${place.refs}/${kind}`, signal)))
  const files = kinds.flatMap((kind, index) =>
    listed[index]!.filter(({ name }) => name.endsWith('.json')).map((entry) => ({
      ...fileAt(`${place.refs}/${kind}`, entry),
      named: refOf(kind, entry.name),
    })),
  )
  const found = await mapConcurrent(
    concurrentRequests,
    files,
    async ({ named, ...file }): Promise<StoredRef | undefined> => {
      const bytes = await drive.read(file.path, { maxBytes: sealLimit, signal })
      const marked = bytes !== null && readTombstone(bytes) !== undefined
      const pointer = bytes === null ? undefined : pointerIn(bytes)
      // The ref in the file counts only if it fits the file's name.
      const ref = pointer?.ref !== undefined && isFileOf(place, pointer.ref, file.path) ? pointer.ref : named
      if (ref === undefined) return undefined
      return { ...file, ref, ...(marked && { marked }), ...(pointer && { commit: pointer.commit }) }
    },
  )
  return found.filter((one) => one !== undefined)
}

/** The names of the stored refs, without reading any. A name that was shortened is left out. */
export async function listRefNames(drive: Drive, place: Layout, signal: AbortSignal): Promise<string[]> {
  const kinds = ['heads', 'pull'] as const
  const listed = await Promise.all(kinds.map((kind) => drive.list(`${place.refs}/${kind}`, signal)))
  const names = kinds.flatMap((kind, index) => listed[index]!.map(({ name }) => refOf(kind, name)))
  return names.filter((name) => name !== undefined)
}

/** The ref that the file name encodes; undefined if the name does not determine it. */
function refOf(kind: 'heads' | 'pull', name: string): string | undefined {
  const stem = name.slice(0, -'.json'.length)
  if (stem === '' || stem.includes('~') || (kind === 'pull' && !/^[1-9]\d{0,9}$/.test(stem))) return undefined
  try {
    return `refs/${kind}/${decodeURIComponent(stem)}`
  } catch {
    return undefined
  }
}

function isFileOf(place: Layout, ref: string, path: string): boolean {
  try {
    return place.ref(ref) === path
  } catch (error) {
    if (isHandoffError(error)) return false
    throw error
  }
}

function pointerIn(bytes: Uint8Array): RefPointer | undefined {
  try {
    return decodeRef(bytes)
  } catch (error) {
    if (isHandoffError(error)) return undefined
    throw error
  }
}

interface Measure {
  files: number
  bytes: number
  /** When a file in it was last written; undefined if the drive gives no times. */
  newest?: string
}

/** Counts files and bytes below a directory. */
export async function measure(drive: Drive, directory: string, signal: AbortSignal): Promise<Measure> {
  const sum: Measure = { files: 0, bytes: 0 }
  let folders = [directory]
  while (folders.length > 0) {
    const listed = await mapConcurrent(concurrentRequests, folders, async (folder) => ({
      folder,
      entries: await drive.list(folder, signal),
    }))
    folders = []
    for (const { folder, entries } of listed) {
      for (const entry of entries) {
        if (entry.isDirectory) folders.push(`${folder}/${entry.name}`)
        else {
          sum.files += 1
          sum.bytes += entry.size
        }
        if (entry.modifiedAt !== undefined && entry.modifiedAt > (sum.newest ?? '')) sum.newest = entry.modifiedAt
      }
    }
  }
  return sum
}
