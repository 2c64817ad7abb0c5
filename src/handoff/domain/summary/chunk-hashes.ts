// Finds what changed in a file without its former text: by short hashes of chunks of a few lines. Chunk borders depend on the content, so an
// insertion shifts the chunks after it and changes none of them (content-defined chunking).

/** A chunk of a file: its number of lines and their hash. */
export interface ChunkHash {
  hash: string
  lines: number
}

/** Returns the lowercase hexadecimal sha256 of a text. */
export type Sha256 = (text: string) => string

const longestPiece = { lines: 32, characters: 3_000 }
const hashDigits = 12

export function hashChunks(lines: readonly { text: string }[], sha256: Sha256): ChunkHash[] {
  const marks: ChunkHash[] = []
  let piece: string[] = []
  let characters = 0
  const close = () => {
    if (piece.length > 0) marks.push({ hash: sha256(piece.join('\n')).slice(0, hashDigits), lines: piece.length })
    piece = []
    characters = 0
  }
  for (const { text } of lines) {
    piece.push(text)
    characters += text.length
    if (isBorder(text) || piece.length >= longestPiece.lines || characters > longestPiece.characters) close()
  }
  close()
  return marks
}

/** True for about one line in eight, depending on its text alone. */
function isBorder(text: string): boolean {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return ((hash >>> 13) & 7) === 0
}

export function encodeChunkHashes(marks: readonly ChunkHash[]): string {
  return marks.map((mark) => `${mark.hash}${mark.lines.toString(36)}`).join(',')
}

export function decodeChunkHashes(text: string): ChunkHash[] {
  if (text === '') return []
  return text.split(',').map((entry) => ({
    hash: entry.slice(0, hashDigits),
    lines: Number.parseInt(entry.slice(hashDigits), 36),
  }))
}

/** The form of an encoded list, to validate one before decoding it. */
export const chunkHashesPattern = /^([0-9a-f]{12}[0-9a-z]{1,4}(,[0-9a-f]{12}[0-9a-z]{1,4})*)?$/

export interface Alignment {
  /** Ranges of new lines, from 0, end excluded, that were added or that surround a deletion. */
  changed: { from: number; to: number }[]
  /** The number of unchanged lines. */
  kept: number
  /** Maps an old line, from 0, to its new place; a deleted line to the nearest unchanged one. */
  moved: (line: number) => number
}

export function align(before: readonly ChunkHash[], after: readonly ChunkHash[]): Alignment {
  const pairs = pairsOf(before, after)
  const starts = { before: startsOf(before), after: startsOf(after) }
  const partner = new Map(pairs.map(([old, now]) => [old, now]))
  return {
    changed: changedRanges(pairs, before.length, starts.after),
    kept: pairs.reduce((sum, [, now]) => sum + after[now]!.lines, 0),
    moved: (line) => movedLine(line, starts, partner),
  }
}

interface Starts {
  before: number[]
  after: number[]
}

function startsOf(marks: readonly ChunkHash[]): number[] {
  const starts = [0]
  for (const mark of marks) starts.push(starts.at(-1)! + mark.lines)
  return starts
}

function movedLine(line: number, starts: Starts, partner: Map<number, number>): number {
  let piece = pieceAt(starts.before, line)
  const now = partner.get(piece)
  if (now !== undefined) return starts.after[now]! + line - starts.before[piece]!
  while (piece >= 0 && !partner.has(piece)) piece--
  const place = piece < 0 ? 0 : starts.after[partner.get(piece)! + 1]!
  return Math.max(0, Math.min(place, starts.after.at(-1)! - 1))
}

function pieceAt(starts: number[], line: number): number {
  let low = 0
  let high = starts.length - 2
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= line) low = middle
    else high = middle - 1
  }
  return low
}

/** Lines shown around a deletion. */
const around = 2

function changedRanges(pairs: [number, number][], oldCount: number, starts: number[]): Alignment['changed'] {
  const ranges: Alignment['changed'] = []
  const total = starts.at(-1)!
  let old = 0
  let now = 0
  for (const [nextOld, nextNow] of [...pairs, [oldCount, starts.length - 1] as const]) {
    if (nextNow > now) ranges.push({ from: starts[now]!, to: starts[nextNow]! })
    else if (nextOld > old && total > 0) {
      ranges.push({ from: Math.max(0, starts[now]! - around), to: Math.min(total, starts[now]! + around) })
    }
    old = nextOld + 1
    now = nextNow + 1
  }
  return ranges
}

/** Pairs of equal chunks in order: from both ends first, then around unique chunks. */
function pairsOf(before: readonly ChunkHash[], after: readonly ChunkHash[]): [number, number][] {
  let head = 0
  while (head < before.length && head < after.length && same(before[head]!, after[head]!)) head++
  let tail = 0
  const room = Math.min(before.length, after.length) - head
  while (tail < room && same(before.at(-1 - tail)!, after.at(-1 - tail)!)) tail++
  const pairs: [number, number][] = Array.from({ length: head }, (_, index) => [index, index])
  pairs.push(...middlePairs(before, after, head, tail))
  for (let back = tail; back > 0; back--) pairs.push([before.length - back, after.length - back])
  return pairs
}

const same = (a: ChunkHash, b: ChunkHash) => a.hash === b.hash && a.lines === b.lines

function middlePairs(
  before: readonly ChunkHash[],
  after: readonly ChunkHash[],
  head: number,
  tail: number,
): [number, number][] {
  const inBefore = uniquePlaces(before, head, before.length - tail)
  const inAfter = uniquePlaces(after, head, after.length - tail)
  const anchors: [number, number][] = []
  for (const [hash, old] of inBefore) {
    const now = inAfter.get(hash)
    if (old >= 0 && now !== undefined && now >= 0) anchors.push([old, now])
  }
  anchors.sort((a, b) => a[0] - b[0])
  return rising(anchors)
}

/** The place of each hash; -1 if it occurs more than once. */
function uniquePlaces(marks: readonly ChunkHash[], from: number, to: number): Map<string, number> {
  const places = new Map<string, number>()
  for (let index = from; index < to; index++) {
    const { hash } = marks[index]!
    places.set(hash, places.has(hash) ? -1 : index)
  }
  return places
}

/** The longest increasing subsequence of pairs, by patience sorting. */
function rising(pairs: [number, number][]): [number, number][] {
  const piles: number[] = []
  const before: number[] = []
  pairs.forEach(([, now], index) => {
    let low = 0
    let high = piles.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (pairs[piles[middle]!]![1] < now) low = middle + 1
      else high = middle
    }
    before[index] = low === 0 ? -1 : piles[low - 1]!
    piles[low] = index
  })
  const result: [number, number][] = []
  for (let index = piles.at(-1) ?? -1; index >= 0; index = before[index]!) result.push(pairs[index]!)
  return result.reverse()
}
