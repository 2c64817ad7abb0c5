// Finds lines that an earlier commit had in this one, by the digest of the lines: the earlier commit is not at hand.
//
// The answer is never too good: lines count as found if they stand in one place only, or where they stood, and say enough to be recognised.
import { hash } from 'node:crypto'
import { normalizeLine } from '../../../domain/citations/digest-lines.js'
import type { CitedFile, Relocation } from '../../../domain/sandbox-protocol.js'
import { redactSecrets } from '../../../domain/secrets/redact-file.js'
import { decodeText, sanitizeText } from './decode-text.js'
import type { BlobReader } from './git-objects.js'
import type { Entry } from './git-tree.js'

/** Larger files are not searched. */
const fileByteLimit = 2_000_000
/** Bytes that are hashed in all. What is left then counts as changed. */
const hashByteLimit = 400_000_000
/** Files with the same name that are searched when a file is gone: more say nothing about where it went. */
const namesakeLimit = 8
/** Letters and digits that lines must have to be recognised in a file that changed. */
const tellingCharacters = 8

type Place = CitedFile['places'][number]

export async function relocate(
  cited: readonly CitedFile[],
  entries: readonly Entry[],
  reader: BlobReader,
): Promise<Relocation[]> {
  if (cited.length === 0) return []
  const files = indexFiles(entries)
  const wanted = cited.map((file) => ({ file, candidates: candidatesFor(file, files) }))
  const contents = await readLines(
    wanted.flatMap(({ candidates }) => (candidates.twin ? [] : candidates.search)),
    reader,
  )
  const budget = { bytes: hashByteLimit }
  return wanted.flatMap(({ file, candidates }) =>
    file.places.map((place) => relocatePlace(file, place, candidates, contents, budget)),
  )
}

interface FileIndex {
  byPath: Map<string, Entry>
  byBlob: Map<string, Entry[]>
  byName: Map<string, Entry[]>
}

function indexFiles(entries: readonly Entry[]): FileIndex {
  // Symbolic links and submodules have no lines, and two paths that are not UTF-8 may look alike.
  const files = entries.filter(({ mode, pathBase64 }) => mode.startsWith('100') && pathBase64 === undefined)
  return {
    byPath: new Map(files.map((entry) => [entry.path, entry])),
    byBlob: Map.groupBy(files, ({ blob }) => blob),
    byName: Map.groupBy(files, ({ name }) => name),
  }
}

interface Candidates {
  /** A file with the same bytes. */
  twin?: Entry
  /** Files that may have the lines. */
  search: Entry[]
  /** What is said of lines that are not found. */
  otherwise: 'changed' | 'gone'
}

function candidatesFor({ path, blob }: CitedFile, { byPath, byBlob, byName }: FileIndex): Candidates {
  const here = byPath.get(path)
  const otherwise = here ? 'changed' : 'gone'
  if (here?.blob === blob) return { twin: here, search: [], otherwise }
  const name = path.slice(path.lastIndexOf('/') + 1)
  const twins = byBlob.get(blob) ?? []
  const twin = twins.find((entry) => entry.name === name) ?? twins[0]
  if (!here && twin) return { twin, search: [], otherwise }
  const namesakes = byName.get(name) ?? []
  const search = here ? [here] : namesakes.length <= namesakeLimit ? namesakes : []
  return { search: search.filter(({ size }) => size <= fileByteLimit), otherwise }
}

async function readLines(entries: readonly Entry[], reader: BlobReader): Promise<Map<string, string[]>> {
  const blobs = [...new Set(entries.map(({ blob }) => blob))]
  const contents = new Map<string, string[]>()
  if (blobs.length === 0) return contents
  await reader.read(blobs, (index, bytes) => {
    const text = bytes && decodeText(bytes)
    if (text) contents.set(blobs[index]!, linesOf(text))
  })
  return contents
}

/** The lines as the survey shows them. */
const linesOf = (text: Buffer) => redactSecrets(sanitizeText(text)).text.split('\n').map(normalizeLine)

function relocatePlace(
  { path, blob }: CitedFile,
  place: Place,
  { twin, search, otherwise }: Candidates,
  contents: ReadonlyMap<string, string[]>,
  budget: { bytes: number },
): Relocation {
  const { from, to } = place
  const cited = { path, blob, from, to }
  if (twin) return { ...cited, verdict: 'same', now: { path: twin.path, blob, from, to } }
  const found = search.flatMap((entry) =>
    findLines(contents.get(entry.blob) ?? [], place, budget).map((line) => ({ entry, line })),
  )
  const [only] = found
  if (!only || found.length > 1) return { ...cited, verdict: otherwise }
  const { entry, line } = only
  return { ...cited, verdict: 'moved', now: { path: entry.path, blob: entry.blob, from: line, to: line + to - from } }
}

/** The first lines of the places where the lines stand: the one where they stood, if it is among them. */
function findLines(lines: readonly string[], { from, to, digest }: Place, budget: { bytes: number }): number[] {
  const count = to - from + 1
  const found: number[] = []
  for (let start = 0; start + count <= lines.length; start++) {
    const text = lines.slice(start, start + count).join('\n')
    budget.bytes -= text.length
    if (budget.bytes < 0) return []
    if (hash('sha256', text) !== digest) continue
    if (!isTelling(text)) return []
    found.push(start + 1)
  }
  return found.includes(from) ? [from] : found
}

const isTelling = (text: string) => (text.match(/[\p{L}\p{N}]/gu)?.length ?? 0) >= tellingCharacters
