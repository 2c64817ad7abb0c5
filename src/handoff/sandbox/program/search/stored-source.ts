// A commit in the stored files of its run: the index says where each object is in the tar of the clone, and only those that are needed are read. Each is
// checked by its id, and what leads from the commit to what is shown is checked as the host checks it. Whatever does not fit throws: then the clone is
// fetched and unpacked.
import { type PackedObject, proveCommit } from '../../../domain/git-proof.js'
import { toUtf8 } from '../../../domain/source-lines.js'
import { redactName } from '../survey/git-tree.js'
import { type CommitSource, directoriesOf, parentsOf } from './commit-source.js'
import { withZero } from './corpus.js'
import { type CommitIndex, type ObjectPlace, readIndex } from './read-index.js'
import { readPlaces, type StoredFile } from './stored-file.js'
import { readObject, type StoredObject } from './stored-objects.js'

interface Stored {
  table: Uint8Array
  pages: StoredFile
  tar: StoredFile
}

export function openStoredSource({ table, pages, tar }: Stored, commit: string): CommitSource {
  const index = readIndex(table, pages, commit)
  const objects = createObjects(tar)
  const contents = new Map<number, Buffer>()
  const prove = createProver(index, objects, commit)
  let files: Map<string, ObjectPlace> | undefined

  return {
    findDefinitions: index.findDefinitions,
    prove,
    corpus: {
      files: index.files,
      unsearched: index.unsearched,
      words: index.words,
      async read(wanted) {
        const missing = wanted.filter((file) => !contents.has(file.index))
        const directories = missing.flatMap(({ path }) => parentsOf(path))
        await objects.load([
          index.commit,
          ...missing.map((file) => index.blobs[file.index]!),
          ...treesOf(index, directories),
        ])
        for (const file of missing) {
          const object = objects.get(index.blobs[file.index]!)
          if (object) contents.set(file.index, withZero(toUtf8(object.bytes)))
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
        await objects.load([place, ...treesOf(index, parentsOf(path))])
        const object = objects.get(place)
        if (object) found.set(path, { blob: place.id, bytes: object.bytes })
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
  load(places: readonly ObjectPlace[]): Promise<void>
  /** Throws if it is another object. Undefined for what the commit names and the clone does not have. */
  get(place: Pick<ObjectPlace, 'id'>): StoredObject | undefined
}

function createObjects(tar: StoredFile): Objects {
  const stored = new Map<string, Buffer>()
  const read = new Map<string, StoredObject>()
  return {
    async load(places) {
      const missing = [...new Map(places.map((place) => [place.id, place])).values()].filter(
        ({ id, length }) => !stored.has(id) && length > 0,
      )
      const bytes = await readPlaces(tar, missing)
      for (const [at, { id }] of missing.entries()) stored.set(id, bytes[at]!)
    },
    get({ id }) {
      const bytes = stored.get(id)
      const object = read.get(id) ?? (bytes && readObject(bytes, id))
      if (object) read.set(id, object)
      return object
    },
  }
}

const treesOf = ({ folders }: CommitIndex, directories: readonly string[]) =>
  ['', ...new Set(directories)].flatMap((path) => folders.get(path) ?? [])

function createProver(index: CommitIndex, objects: Objects, commit: string): CommitSource['prove'] {
  return async (shown) => {
    const way = [index.commit, ...treesOf(index, directoriesOf(shown))]
    await objects.load(way)
    const packed = packAll(way, objects)
    const proven = proveCommit(commit, packed)
    if (shown.excerpts.some(({ path, blob }) => proven.blobAt(path) !== blob))
      throw new RangeError('The search index names a file that the commit does not have.')
    return [
      ...packed,
      ...packAll(
        [...new Set(shown.excerpts.map(({ blob }) => blob))].map((id) => ({ id })),
        objects,
      ),
    ]
  }
}

function packAll(places: readonly Pick<ObjectPlace, 'id'>[], objects: Objects): PackedObject[] {
  return places.flatMap((place) => {
    const object = objects.get(place)
    return object ? [{ kind: object.kind, data: object.deflated.toString('base64') }] : []
  })
}
