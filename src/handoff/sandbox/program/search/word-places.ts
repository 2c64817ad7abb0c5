// How the index keeps the places of a word, and the identifiers that are built with it. The places of an identifier are among those of each of its
// words, so it stands with the rarest one, and only says which of that word's places are its own.
import type { SymbolCoder } from './symbol-coder.js'

/** Blocks of 32 lines in which a word stands: how often, and how often of these as a whole identifier, as it is written. */
export class Places {
  count = 0
  blocks = new Int32Array(64)
  times = new Int32Array(64)
  wholes = new Int32Array(64)
  /** The indices of the places where the word is a part of an identifier, and how many these are: see `codePlaces`. */
  parts = new Int32Array(64)
  partCount = 0

  reserve(count: number): void {
    if (count <= this.blocks.length) return
    const room = Math.max(count, this.blocks.length * 2)
    this.blocks = larger(this.blocks, room)
    this.times = larger(this.times, room)
    this.wholes = larger(this.wholes, room)
    this.parts = larger(this.parts, room)
  }
}

function larger(array: Int32Array<ArrayBuffer>, room: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(room)
  copy.set(array)
  return copy
}

/** Identifiers by their hashes, in the order of these. The places of each come after those of the one before. */
export class Identifiers {
  count = 0
  hashes: number[] = []
  /** Where the places of each end. */
  ends: number[] = []
  places = new Places()
}

// The contexts of numbers. A number that says how frequent something is chooses one of a row of contexts by its size.

const sizes = 24
const rows = {
  count: 1,
  gap: sizes,
  /** By the symbol before it, of the same word. */
  times: 16,
  manyTimes: 3,
  identifiers: sizes,
  hash: 1,
  share: sizes + 4,
  skipped: sizes,
  identifierTimes: 16,
}
const at = Object.fromEntries(
  Object.entries(rows).map(([name], index, all) => [name, all.slice(0, index).reduce((sum, [, own]) => sum + own, 0)]),
) as Record<keyof typeof rows, number>
export const contexts = Object.values(rows).reduce((sum, own) => sum + own, 0)

/** How many binary digits, at most 23. */
const sizeOf = (value: number) => Math.min(sizes - 1, 32 - Math.clz32(value))

/** How rare it is: the binary digits of all for each of those. */
const rarity = (all: number, those: number) => sizeOf(Math.floor(all / those))

/** Up to so many times there is a symbol for each pair of numbers, and then one for each of three cases, in which numbers follow. */
const fewTimes = 6
const pairs = Array.from({ length: fewTimes }, (_, index) =>
  Array.from({ length: index + 2 }, (_, whole): [times: number, whole: number] => [index + 1, whole]),
).flat()
const many = { whole: pairs.length, parts: pairs.length + 1, mixed: pairs.length + 2 }
const timesOf = Uint8Array.from(pairs, ([times]) => times)
const wholeOf = Uint8Array.from(pairs, ([, whole]) => whole)

const symbolOf = (times: number, whole: number) =>
  times <= fewTimes
    ? (times * (times + 1)) / 2 - 1 + whole
    : whole === times
      ? many.whole
      : whole === 0
        ? many.parts
        : many.mixed

/** What a symbol is before the next one: whether the word stands there whole, and how often: once, twice, about four times, more. */
const kinds = Uint8Array.from(
  [...pairs, [fewTimes + 1, fewTimes + 1], [fewTimes + 1, 0], [fewTimes + 1, 1]] as const,
  ([times, whole]) =>
    (whole === 0 ? 0 : whole === times ? 8 : 4) + (times < 2 ? 0 : times < 3 ? 1 : times < fewTimes ? 2 : 3),
)
const noneBefore = 15

/** Codes the places of a word. `all`: how many blocks there are. */
export function codePlaces(coder: SymbolCoder, places: Places, all: number): void {
  const count = coder.number(at.count, places.count - 1) + 1
  if (count > all) throw new RangeError('The search index has too many places.')
  places.reserve(count)
  places.count = count
  places.partCount = 0
  const { blocks, times, wholes, parts } = places
  const gap = at.gap + rarity(all, count)
  let block = -1
  let before = noneBefore
  for (let index = 0; index < count; index++) {
    block += coder.number(gap, blocks[index]! - block - 1) + 1
    blocks[index] = block
    const symbol = coder.symbol(at.times + before, symbolOf(times[index]!, wholes[index]!))
    if (symbol < pairs.length) {
      times[index] = timesOf[symbol]!
      wholes[index] = wholeOf[symbol]!
    } else codeManyTimes(coder, symbol, places, index)
    if (wholes[index]! < times[index]!) parts[places.partCount++] = index
    before = kinds[symbol]!
  }
  if (block >= all) throw new RangeError('The search index has a place behind the end.')
}

function codeManyTimes(coder: SymbolCoder, symbol: number, { times, wholes }: Places, index: number): void {
  const isMixed = symbol === many.mixed
  const all = coder.number(at.manyTimes + Number(isMixed), times[index]! - fewTimes - 1) + fewTimes + 1
  const parts = isMixed ? coder.number(at.manyTimes + 2, all - wholes[index]!) : all
  times[index] = all
  wholes[index] = symbol === many.whole ? all : Math.max(0, all - parts)
}

/** Bits of a hash beside those that tell the identifiers of a word apart. */
const hashBits = 14

/** How many bits of a hash are kept where a word has so many identifiers. */
export const keptBits = (identifiers: number) => Math.min(30, hashBits + 32 - Math.clz32(identifiers))

/** Codes the identifiers of a word. Their places are written as ranks among the parts of the word, and read as blocks. */
export function codeIdentifiers(coder: SymbolCoder, own: Identifiers, word: Places): void {
  const all = word.partCount
  own.count = all === 0 ? 0 : coder.number(at.identifiers + sizeOf(all), own.count)
  const { places } = own
  const share = at.share + (all <= exactCounts ? all : exactCounts + sizeOf(all) - sizeOf(exactCounts))
  let hash = 0
  let filled = 0
  for (let index = 0; index < own.count; index++) {
    hash += coder.number(at.hash, own.hashes[index]! - hash)
    own.hashes[index] = hash
    const count = all === 1 ? 1 : coder.number(share, own.ends[index]! - filled - 1) + 1
    if (count > all || filled + count > mostPlaces)
      throw new RangeError('The search index has too many places of an identifier.')
    own.ends[index] = filled + count
    places.reserve(filled + count)
    const skipped = at.skipped + rarity(all * 4, count)
    let rank = -1
    for (const end = filled + count; filled < end; filled++) {
      rank += count === all ? 1 : coder.number(skipped, places.blocks[filled]! - rank - 1) + 1
      if (rank >= all) throw new RangeError('The search index has a place of an identifier behind the end.')
      const part = word.parts[rank]!
      const most = Math.min(mostTimes, word.times[part]! - word.wholes[part]!)
      places.times[filled] = most === 1 ? 1 : coder.number(at.identifierTimes + most, places.times[filled]! - 1) + 1
      places.blocks[filled] = word.blocks[part]!
    }
  }
  places.count = filled
}

/** There is a context for each number up to these. */
const exactCounts = 8
const mostTimes = 15
/** Of the identifiers of one word, in a true index. */
const mostPlaces = 5_000_000
