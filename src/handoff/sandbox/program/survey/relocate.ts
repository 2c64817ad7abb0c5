// Finds lines that an earlier commit had in this one, by the digest of the lines: the earlier commit is not at hand.
//
// The answer is never too good: lines count as found if they stand in one place only, or where they stood, and say enough to be recognised. In a file
// that did not change they count only with their digest: the sandbox that showed them may have been taken over, and its lines end here.
import { hash } from 'node:crypto'
import { normalizeLine } from '../../../domain/citations/digest-lines.js'
import type { CitedFile } from '../../../domain/sandbox-protocol.js'
import type { Relocation } from '../../../domain/sandbox-protocol-decoder.js'
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
    wanted.flatMap(({ candidates: { twin, search } }) => (twin ? [twin] : search)),
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
  return { search, otherwise }
}

interface FileLines {
  /** As they are, without what cannot be shown. */
  plain: string[]
  /** As the survey shows them. */
  shown: () => string[]
}

async function readLines(entries: readonly Entry[], reader: BlobReader): Promise<Map<string, FileLines>> {
  const small = entries.filter(({ size }) => size <= fileByteLimit)
  const blobs = [...new Set(small.map(({ blob }) => blob))]
  const contents = new Map<string, FileLines>()
  if (blobs.length === 0) return contents
  await reader.read(blobs, (index, bytes) => {
    const decoded = bytes && decodeText(bytes)
    if (!decoded) return
    const text = sanitizeText(decoded)
    let shown: string[] | undefined
    contents.set(blobs[index]!, {
      plain: linesOf(text),
      shown: () => (shown ??= linesOf(redactSecrets(text).text)),
    })
  })
  return contents
}

const linesOf = (text: string) => text.split('\n').map(normalizeLine)

/** Few files hold a credential, so the lines are compared as they are first. */
function holds(lines: FileLines | undefined, { from, to, digest }: Place): boolean {
  const isDigestOf = (all: string[]) => hash('sha256', all.slice(from - 1, to).join('\n')) === digest
  return lines !== undefined && (isDigestOf(lines.plain) || isDigestOf(lines.shown()))
}

function relocatePlace(
  { path, blob }: CitedFile,
  place: Place,
  { twin, search, otherwise }: Candidates,
  contents: ReadonlyMap<string, FileLines>,
  budget: { bytes: number },
): Relocation {
  const { from, to } = place
  const cited = { path, blob, from, to }
  if (twin && !holds(contents.get(blob), place)) return { ...cited, verdict: 'changed' }
  if (twin) return { ...cited, verdict: 'same', now: { path: twin.path, blob, from, to } }
  const found = search.flatMap((entry) =>
    findLines(contents.get(entry.blob)?.shown() ?? [], place, budget).map((line) => ({ entry, line })),
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
