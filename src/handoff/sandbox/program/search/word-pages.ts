// The words of a commit in pages, with their places and the identifiers that are built with them: see word-places.ts.
import { createHash } from 'node:crypto'
import { identifierParts } from './scan-words.js'
import {
  createKeyWriter,
  forEachPage,
  type KeyRange,
  type Page,
  type PageFile,
  type PageList,
  type ReadPages,
  rangesInOrder,
  readKeys,
} from './sorted-pages.js'
import { type SymbolCoder, SymbolCounter, SymbolReader, type SymbolTables, SymbolWriter } from './symbol-coder.js'
import { codeIdentifiers, codePlaces, contexts, Identifiers, keptBits, Places } from './word-places.js'
import type { WordTable } from './word-table.js'

/** A longer page is one word. */
const pageSymbols = 12_000

interface Tables {
  words: WordTable
  /** Whole identifiers that are no plain words. */
  identifiers: WordTable
  /** How many there are in all files. */
  blocks: number
}

/** Writes the pages, and returns how frequent each symbol is in them: see `SymbolCounter`. */
export function writeWords(file: PageFile, tables: Tables): { pages: Page[]; steps: Uint8Array } {
  const code = createWordCoder(tables)
  const order = inOrder(tables.words)
  const counter = new SymbolCounter(contexts)
  for (const word of order) code(counter, word)
  const steps = counter.steps()
  const symbols = new SymbolWriter(steps)
  const keys = createKeyWriter()
  const endPage = () => {
    const first = keys.first()
    if (first) file.add(first, Buffer.concat([keys.take(), symbols.take()]))
  }
  for (const word of order) {
    if (symbols.length > pageSymbols) endPage()
    keys.add(tables.words.textOf(word))
    code(symbols, word)
  }
  endPage()
  return { pages: file.endTable(), steps }
}

/** By the bytes of the words. */
function inOrder(words: WordTable): Uint32Array {
  return Uint32Array.from({ length: words.count() }, (_, word) => word).sort((a, b) =>
    words.textOf(a).compare(words.textOf(b)),
  )
}

function createWordCoder({ words, identifiers, blocks }: Tables): (coder: SymbolCoder, word: number) => void {
  const { first, next, hashes } = groupIdentifiers(words, identifiers)
  const places = new Places()
  const own = new Identifiers()
  const one = new Places()
  const ranks = new Int32Array(blocks)

  /**
   * The identifiers of a word in the order of their hashes, with the ranks of their places among the parts of the word. Where the word had no room in
   * its table for a while, it lacks blocks that the identifier has.
   */
  const gather = (word: number) => {
    const members: number[] = []
    for (let identifier = first[word]!; identifier >= 0; identifier = next[identifier]!) members.push(identifier)
    members.sort((a, b) => hashes[a]! - hashes[b]!)
    own.count = 0
    if (members.length === 0) return
    for (let rank = 0; rank < places.partCount; rank++) ranks[places.blocks[places.parts[rank]!]!] = rank
    const hasPart = (block: number) => {
      const rank = ranks[block]!
      return rank < places.partCount && places.blocks[places.parts[rank]!] === block
    }
    let filled = 0
    for (const identifier of members) {
      identifiers.read(identifier, one)
      own.places.reserve(filled + one.count)
      const before = filled
      for (let at = 0; at < one.count; at++) {
        if (!hasPart(one.blocks[at]!)) continue
        own.places.blocks[filled] = ranks[one.blocks[at]!]!
        own.places.times[filled++] = one.times[at]!
      }
      if (filled === before) continue
      own.hashes[own.count] = hashes[identifier]!
      own.ends[own.count++] = filled
    }
    const unused = 32 - keptBits(own.count)
    for (let index = 0; index < own.count; index++) own.hashes[index]! >>>= unused
  }

  return (coder, word) => {
    words.read(word, places)
    codePlaces(coder, places, blocks)
    gather(word)
    codeIdentifiers(coder, own, places)
  }
}

/** Each identifier with the word of it that is a part in the fewest blocks: a list for each word. */
function groupIdentifiers(words: WordTable, identifiers: WordTable) {
  const first = new Int32Array(words.count()).fill(-1)
  const next = new Int32Array(identifiers.count()).fill(-1)
  const hashes = new Uint32Array(identifiers.count())
  for (let identifier = 0; identifier < next.length; identifier++) {
    const text = identifiers.textOf(identifier)
    hashes[identifier] = hashOf(text)
    let rarest = -1
    for (const part of identifierParts(text)) {
      const word = words.numberOf(part, 0, part.length)
      if (word < 0) continue
      if (rarest < 0 || words.blocksWithPart(word) < words.blocksWithPart(rarest)) rarest = word
    }
    if (rarest < 0) continue
    next[identifier] = first[rarest]!
    first[rarest] = identifier
  }
  return { first, next, hashes }
}

/** Stands for a whole identifier. An identifier may be a credential that was committed, which no file beside the clone may have. */
export const hashOf = (identifier: Uint8Array): number =>
  createHash('sha256').update(identifier).digest().readUInt32BE(0)

/** Everything is valid during the call only. A zero follows the word. */
export type TakeWord = (word: Buffer, places: Places, identifiers: Identifiers) => void

/** Calls `take` with each word in one of the ranges. */
export function lookUpWords(
  list: PageList,
  ranges: readonly KeyRange[],
  read: ReadPages,
  { tables, blocks }: { tables: SymbolTables; blocks: number },
  take: TakeWord,
): Promise<void> {
  const places = new Places()
  const own = new Identifiers()
  return forEachPage(list, ranges, read, (stored, _, wanted) => {
    const { keys, body } = readKeys(stored)
    const isWanted = rangesInOrder(wanted)
    const symbols = new SymbolReader(tables, body, blocks * 64 + 1_000_000)
    for (let key = keys.next(); key; key = keys.next()) {
      const isNext = isWanted(key)
      if (isNext === undefined) return
      codePlaces(symbols, places, blocks)
      codeIdentifiers(symbols, own, places)
      if (isNext) take(key, places, own)
    }
  })
}
