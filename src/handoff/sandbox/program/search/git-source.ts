// A commit in an unpacked clone.
import { deflateRawSync } from 'node:zlib'
import type { ObjectKind, PackedObject } from '../../../domain/git-proof.js'
import type { Outline } from '../../../domain/survey.js'
import { gitAt, openBlobReader } from '../survey/git-objects.js'
import { type CommitSource, directoriesOf } from './commit-source.js'
import { isCitable, largestFile, openCorpus } from './corpus.js'
import { definitionsIn } from './definition-sites.js'

/** `directory` is a bare repository. */
export async function openGitSource(directory: string, commit: string, outline: Outline): Promise<CommitSource> {
  const corpus = await openCorpus(directory, commit)
  const { tree } = corpus
  const readObjects = async (names: string[], take: (index: number, bytes: Buffer) => void) => {
    await openBlobReader(gitAt(directory), 'many').read(names, (index, bytes) => bytes && take(index, bytes))
  }
  return {
    corpus,
    findDefinitions: definitionsIn(outline),
    async readFiles(paths) {
      const wanted = new Set(paths)
      const entries = tree.entries.filter(
        (entry) =>
          wanted.has(entry.path) && isCitable(entry) && entry.mode.startsWith('100') && entry.size <= largestFile,
      )
      const found = new Map<string, { blob: string; bytes: Buffer }>()
      await readObjects(
        entries.map(({ blob }) => blob),
        (index, bytes) => {
          const { path, blob } = entries[index]!
          if (!found.has(path)) found.set(path, { blob, bytes: Buffer.from(bytes) })
        },
      )
      return found
    },
    async namesIn(directory) {
      const folders = tree.folders
        .filter(({ parent }) => parent?.path === directory)
        .map(({ path }) => `${path.split('/').at(-1)}/`)
      const files = tree.entries.filter(({ folder }) => folder.path === directory).map(({ name }) => name)
      return [...folders, ...files]
    },
    async prove(shown) {
      const objects: { kind: ObjectKind; name: string }[] = [
        { kind: 'commit', name: commit },
        ...directoriesOf(shown)
          .filter((path) => !/[\n\r]/.test(path))
          .map((path) => ({ kind: 'tree' as const, name: path === '' ? `${commit}^{tree}` : `${commit}:${path}` })),
        ...[...new Set(shown.excerpts.map(({ blob }) => blob))].map((name) => ({ kind: 'blob' as const, name })),
      ]
      const packed: PackedObject[] = []
      await readObjects(
        objects.map(({ name }) => name),
        (index, bytes) => {
          const data = deflateRawSync(bytes, { level: 1 }).toString('base64')
          packed.push({ kind: objects[index]!.kind, data })
        },
      )
      return packed
    },
  }
}
