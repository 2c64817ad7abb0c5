// `analysis/prose.json`: the texts that the model wrote about the parts of a repository, so that the next push pays only for what changed.
// Files are identified by blob ids, directories by tree ids. A cache is valid for one model and one version of the prompts.
//
// A cache that cannot be read or that breaks a rule is ignored: reuse saves money and is never required.
import * as read from '../../util/decode.js'
import { isHandoffError } from '../errors.js'
import { decodeVersioned } from '../handoff-record.js'
import { type ChunkHash, chunkHashesPattern, decodeChunkHashes, encodeChunkHashes } from './chunk-hashes.js'
import { cleanModelText } from './clean-model-text.js'
import { mapSections, type Sections } from './summary-document.js'

/** A file that was described, at the blob that was described. */
export interface CachedFile {
  path: string
  blob: string
  /** The last line that is known to exist. */
  lines: number
  /** The part that describes the file. Without one, the sections describe it. */
  part?: number
  /** Chosen, but no text was written about it: a limit ended the run. */
  leftOut?: true
  /** Its text was shown from the first line, so that line numbers can be tracked. */
  whole?: true
  /** Hashes of the chunks of its text. */
  marks: ChunkHash[]
}

/** A leaf describes files. A joined part combines the parts that name it as their parent. */
export interface CachedPart {
  id: number
  /** `leaf` or `joined` */
  kind: 'leaf' | 'joined'
  /** The directory of everything it describes; `''` is the top. */
  directory: string
  /** Hash of what it describes, the model and the prompts. */
  key: string
  /** Tokens of its files when it was planned. */
  tokens: number
  parent?: number
  text: string
}

export interface SummaryCache {
  version: 1
  commit: string
  /** A cache of another model or of other prompts is not reused. */
  model: string
  prompts: number
  /** The limit in tokens under which files were left out, if any were. */
  inputTokens: number
  /** Tree ids of the directories that hold the files; the same id means that nothing in it changed. */
  trees: Record<string, string>
  files: CachedFile[]
  parts: CachedPart[]
  summary?: { key: string; sections: Sections }
}

/** Bytes of the file. A larger cache omits the chunk hashes; if it is still too large, it is left out. */
export const summaryCacheLimit = 6_000_000

const limits = { files: 100_000, parts: 5_000, trees: 100_000, path: 8_192, text: 20_000, marks: 400_000, height: 30 }

const path = read.string(limits.path)
const shape = read.object({
  version: read.oneOf(1),
  commit: read.objectId,
  model: read.string(300),
  prompts: read.count,
  inputTokens: read.count,
  trees: read.record(read.objectId, limits.trees),
  files: read.array(
    read.object({
      path,
      blob: read.objectId,
      lines: read.count,
      part: read.optional(read.count),
      leftOut: read.optional(read.oneOf(1)),
      whole: read.optional(read.oneOf(1)),
      marks: (value: unknown, at: string) =>
        read.pattern(chunkHashesPattern, 'a list of hashes')(read.string(limits.marks)(value, at), at),
    }),
    limits.files,
  ),
  parts: read.array(
    read.object({
      id: read.count,
      kind: read.oneOf('leaf', 'joined'),
      directory: path,
      key: read.sha256,
      tokens: read.count,
      parent: read.optional(read.count),
      text: read.string(limits.text),
    }),
    limits.parts,
  ),
  summary: read.optional(read.object({ key: read.sha256, sections: read.array(read.string(60_000), 4) })),
})

export function encodeSummaryCache(cache: SummaryCache): Uint8Array {
  const pruned = pruneSummaryCache(cache)
  const bytes = bytesOf(pruned, true)
  if (bytes.length <= summaryCacheLimit) return bytes
  const smaller = bytesOf(pruned, false)
  return smaller.length <= summaryCacheLimit ? smaller : bytesOf({ ...pruned, trees: {}, files: [], parts: [] }, false)
}

function bytesOf(cache: SummaryCache, withMarks: boolean): Uint8Array {
  const files = cache.files.map(({ leftOut, whole, marks, ...file }) => ({
    ...file,
    ...(leftOut ? { leftOut: 1 } : {}),
    ...(whole ? { whole: 1 } : {}),
    marks: withMarks ? encodeChunkHashes(marks) : '',
  }))
  // One file or part per line, so that people can read the file and diff it.
  const { files: _files, parts, ...head } = cache
  const list = (rows: unknown[]) =>
    rows.length === 0 ? '[]' : `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]`
  const text = `${JSON.stringify(head).slice(0, -1)},\n"files":${list(files)},\n"parts":${list(parts)}}\n`
  return new TextEncoder().encode(text)
}

/** Throws `corrupt` or `unknown-version`. Texts are cleaned, because the file may have been changed by others. */
export function decodeSummaryCache(bytes: Uint8Array): SummaryCache {
  const found = decodeVersioned(bytes, (value, at) => checked(shape(value, at)), 'prose.json')
  return {
    ...found,
    files: found.files.map(({ leftOut, whole, marks, ...file }) => ({
      ...file,
      ...(leftOut ? { leftOut: true as const } : {}),
      ...(whole ? { whole: true as const } : {}),
      marks: decodeChunkHashes(marks),
    })),
    parts: found.parts.map((part) => ({ ...part, text: cleanModelText(part.text) })),
    ...(found.summary === undefined
      ? {}
      : {
          summary: {
            key: found.summary.key,
            sections: mapSections(found.summary.sections as Sections, (text) => cleanModelText(text)),
          },
        }),
  } as SummaryCache
}

/** As `decodeSummaryCache`, but a cache that cannot be used is ignored with a notice. */
export function readSummaryCache(
  bytes: Uint8Array | null | undefined,
  notice: (text: string) => void,
): SummaryCache | undefined {
  if (!bytes) return undefined
  try {
    if (bytes.length > summaryCacheLimit) throw new RangeError('too large')
    return decodeSummaryCache(bytes)
  } catch (error) {
    const why = isHandoffError(error, 'unknown-version') ? 'was written by a newer handoff' : 'cannot be read'
    notice(`The summary cache of the earlier run ${why}; the repository is described anew.`)
    return undefined
  }
}

type Shape = ReturnType<typeof shape>

/** Checks references: each id exists once, each reference has a target, and there are no cycles. */
function checked(cache: Shape): Shape {
  const parts = new Map(cache.parts.map((part) => [part.id, part]))
  if (parts.size !== cache.parts.length) throw new read.DecodeError('a part is there twice')
  if (new Set(cache.files.map((file) => file.path)).size !== cache.files.length)
    throw new read.DecodeError('a file is there twice')
  for (const file of cache.files) {
    if (file.part !== undefined && parts.get(file.part)?.kind !== 'leaf')
      throw new read.DecodeError('a file has no part')
  }
  for (const part of cache.parts) {
    let above = part
    for (let height = 0; above.parent !== undefined; height++) {
      const parent = parts.get(above.parent)
      if (parent?.kind !== 'joined' || height > limits.height) throw new read.DecodeError('a part has no parent')
      above = parent
    }
  }
  if (cache.summary !== undefined && cache.summary.sections.length !== 4)
    throw new read.DecodeError('there are not four sections')
  return cache
}

/** Removes parts without files and trees without files. */
export function pruneSummaryCache(cache: SummaryCache): SummaryCache {
  const byId = new Map(cache.parts.map((part) => [part.id, part]))
  const live = new Set<number>()
  for (const { part: leaf } of cache.files) {
    if (leaf === undefined || live.has(leaf) || !byId.get(leaf)?.text) continue
    for (let id: number | undefined = leaf; id !== undefined && !live.has(id); id = byId.get(id)?.parent) live.add(id)
  }
  const parts = cache.parts.filter((part) => live.has(part.id) && part.text !== '')
  const there = new Set(parts.map((part) => part.id))
  const files = cache.files.map((file) => {
    if (file.part === undefined || there.has(file.part)) return file
    const { part: _part, ...rest } = file
    return { ...rest, leftOut: true as const }
  })
  const kept = parts.map((part) => {
    if (part.parent === undefined || there.has(part.parent)) return part
    const { parent: _parent, ...rest } = part
    return rest
  })
  const directories = new Set(files.map((file) => file.path.slice(0, Math.max(0, file.path.lastIndexOf('/')))))
  const trees = Object.fromEntries(Object.entries(cache.trees).filter(([directory]) => directories.has(directory)))
  return { ...cache, trees, files, parts: kept }
}
