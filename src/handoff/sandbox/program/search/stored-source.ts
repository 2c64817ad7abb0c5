// A commit in the stored files of its run: the index says where each object is in the tar of the clone, and only those that are needed are read. Each is
// checked by its id, and what leads from the commit to what is shown is checked as the host checks it. Whatever does not fit throws: then the clone is
// fetched and unpacked.
import { type PackedObject, proveCommit } from '../../../domain/git-proof.js'
import { toUtf8 } from '../../../domain/source-lines.js'
import { awaitedLater } from '../../../util/abort.js'
import { redactName } from '../survey/git-tree.js'
import { type CommitSource, directoriesOf, parentsOf } from './commit-source.js'
import { withZero } from './corpus.js'
import { type CommitIndex, readIndex, type StoredTable, type WantedKeys } from './read-index.js'
import { readPlaces, type StoredFile } from './stored-file.js'
import { type Place, readObject, type StoredObject } from './stored-objects.js'

interface Stored extends StoredTable {
  pages: StoredFile
  tar: StoredFile
}

/** `wanted`: what the search will look up first. */
export async function openStoredSource(
  { table, start, pages, tar }: Stored,
  commit: string,
  wanted?: WantedKeys,
): Promise<CommitSource> {
  const index = await readIndex({ table, start }, pages, commit, wanted)
  const objects = createObjects(tar)
  const contents = new Map<number, Buffer>()
  const prove = createProver(index, objects, commit)
  let files: Map<string, Place> | undefined

  return {
    findDefinitions: index.findDefinitions,
    prove,
    corpus: {
      files: index.files,
      unsearched: index.unsearched,
      words: index.words,
      async read(wanted) {
        const missing = wanted.filter((file) => !contents.has(file.index))
        const loading = objects.load(missing.map((file) => index.blobs[file.index]!))
        // The ranking does not wait for what leads to them: only what is shown in the end is proven.
        const directories = missing.flatMap(({ path }) => parentsOf(path))
        awaitedLater(objects.load(wayTo(index, directories)))
        await loading
        for (const file of missing) {
          const object = objects.get(index.blobs[file.index]!)
          if (!object) continue
          file.blob = object.id
          contents.set(file.index, withZero(toUtf8(object.bytes)))
        }
        return contents
      },
    },
    async readFiles(paths) {
      files ??= new Map(index.files.map((file) => [file.path, index.blobs[file.index]!]))
      const found = new Map<string, { blob: string; bytes: Buffer }>()
      for (const path of paths) {
        const place = files.get(path) ?? (await index.findOther(path))
        if (!place) continue
        await objects.load([place, ...wayTo(index, parentsOf(path))])
        const object = objects.get(place)
        if (object) found.set(path, { blob: object.id, bytes: object.bytes })
      }
      return found
    },
    async namesIn(directory) {
      const proof = await prove({ excerpts: [], listings: [{ path: directory }] })
      return [...(proveCommit(commit, proof).names(directory) ?? [])].map((name) => redactName(name).text)
    },
  }
}

interface Objects {
  /** Those that are not there yet. */
  load(places: readonly Place[]): Promise<void>
  /** Undefined for what the commit names and the clone does not have. */
  get(place: Place): StoredObject | undefined
  /** Those of these ids that were read. */
  named(ids: readonly string[]): StoredObject[]
}

function createObjects(tar: StoredFile): Objects {
  /** All by offset. */
  const loading = new Map<number, Promise<void>>()
  const stored = new Map<number, Buffer>()
  const read = new Map<number, StoredObject>()
  return {
    async load(places) {
      const wanted = [...new Map(places.map((place) => [place.offset, place])).values()].filter(
        ({ length }) => length > 0,
      )
      const missing = wanted.filter(({ offset }) => !loading.has(offset))
      const reading = readPlaces(tar, missing).then((bytes) => {
        for (const [at, { offset }] of missing.entries()) stored.set(offset, bytes[at]!)
      })
      for (const { offset } of missing) loading.set(offset, reading)
      await Promise.all(new Set(wanted.map(({ offset }) => loading.get(offset)!)))
    },
    get({ offset, length }) {
      const bytes = length > 0 ? stored.get(offset) : undefined
      const object = read.get(offset) ?? (bytes && readObject(bytes))
      if (object) read.set(offset, object)
      return object
    },
    named(ids) {
      const wanted = new Set(ids)
      return [...read.values()].filter(({ id }) => wanted.has(id))
    },
  }
}

/** The commit, its tree and those of the directories. */
const wayTo = ({ commit, folders }: CommitIndex, directories: readonly string[]): Place[] => [
  commit,
  ...['', ...new Set(directories)].flatMap((path) => folders.get(path) ?? []),
]

function createProver(index: CommitIndex, objects: Objects, commit: string): CommitSource['prove'] {
  return async (shown) => {
    const way = wayTo(index, directoriesOf(shown))
    await objects.load(way)
    const packed = packAll(way.flatMap((place) => objects.get(place) ?? []))
    const proven = proveCommit(commit, packed)
    if (shown.excerpts.some(({ path, blob }) => proven.blobAt(path) !== blob))
      throw new RangeError('The search index names a file that the commit does not have.')
    return [...packed, ...packAll(objects.named(shown.excerpts.map(({ blob }) => blob)))]
  }
}

const packAll = (objects: readonly StoredObject[]): PackedObject[] =>
  objects.map(({ kind, deflated }) => ({ kind, data: deflated.toString('base64') }))
