// Which files others depend on: a graph from "uses a name" to "defines it", ranked by PageRank. A name with one definition says more than a name with
// five, and a name that is defined everywhere says nothing. A file that uses another usually imports it, so it also mentions its name or folder.

import type { AnalysisTable } from './analysis-table.js'
import type { Entry } from './git-tree.js'
import { languageForGrammar } from './languages.js'
import { type Edges, pageRank, reverseEdges } from './page-rank.js'
import { hashName } from './scan-identifiers.js'

/** A name with more definitions is ambiguous. */
const mostDefiners = 6
/** The factor of an edge to a file whose name and folder are not mentioned. */
const unmentionedFactor = 0.25

/** The weight of using others, beside being used: such files are good starting points. */
const usingWeight = 0.3

/** One number per entry, in order; they add up to 1. */
export function centrality(entries: readonly Entry[], analyses: AnalysisTable): Float64Array {
  if (entries.length === 0) return new Float64Array(0)
  const edges = buildEdges(entries, analyses)
  const used = pageRank(entries.length, edges)
  const using = pageRank(entries.length, reverseEdges(entries.length, edges))
  const both = used.map((rank, file) => rank ** (1 - usingWeight) * using[file]! ** usingWeight)
  const sum = both.reduce((all, one) => all + one, 0)
  return both.map((one) => one / sum)
}

function buildEdges(entries: readonly Entry[], analyses: AnalysisTable): Edges {
  const families = computeSalts(
    entries,
    ({ analysis: record }) => languageForGrammar(analyses.records[record]!.grammar).family,
  )
  const folders = computeSalts(entries, ({ folder }) => folder.path)
  const names = createNameTable(entries, families, folders, analyses)
  const places = createMentionTracker(entries, analyses)
  const pool = analyses.pool()
  const gathered = new Float64Array(entries.length)
  const edges = createEdgeList(entries.length)
  const touched: number[] = []
  for (let user = 0; user < entries.length; user++) {
    const { from, middle: to } = analyses.records[entries[user]!.analysis]!
    for (let index = from; index < to; index++) {
      const hash = pool[index]!
      places.addMention(hash, user)
      names.addDefiners(hash ^ families[user]!, user, gathered, touched)
      if (names.isLocal(hash)) names.addDefiners(hash ^ families[user]! ^ folders[user]!, user, gathered, touched)
    }
    edges.add(user, gathered, touched, (file) => places.mentionShare(file, user))
  }
  return edges.finish()
}

/** One salt per entry; neighbours mostly share a text. */
function computeSalts(entries: readonly Entry[], textOf: (entry: Entry) => string): Int32Array {
  const salts = new Int32Array(entries.length)
  let last: string | undefined
  for (let file = 0; file < entries.length; file++) {
    const text = textOf(entries[file]!)
    salts[file] = text === last ? salts[file - 1]! : salt(text)
    last = text
  }
  return salts
}

/** Different families, and names with folder visibility, share a hash only by chance. */
function salt(text: string): number {
  return Math.imul(hashName(text) ^ 7, 0x9e3779b1)
}

interface EdgeList {
  /** Adds the gathered edges of one user and clears them. */
  add: (user: number, gathered: Float64Array, touched: number[], trust: (file: number) => number) => void
  finish: () => Edges
}

function createEdgeList(count: number): EdgeList {
  const starts = new Int32Array(count + 1)
  let targets = new Int32Array(count * 8 + 64)
  let weights = new Float32Array(targets.length)
  let filled = 0
  return {
    add(user, gathered, touched, trust) {
      if (filled + touched.length > targets.length) {
        const size = (filled + touched.length) * 2
        const [oldTargets, oldWeights] = [targets, weights]
        targets = new Int32Array(size)
        targets.set(oldTargets)
        weights = new Float32Array(size)
        weights.set(oldWeights)
      }
      let total = 0
      for (const file of touched) {
        // Many shared names strengthen an edge, but less than proportionally.
        const weight = Math.sqrt(gathered[file]!) * trust(file)
        targets[filled] = file
        weights[filled++] = weight
        total += weight
        gathered[file] = 0
      }
      for (let edge = starts[user]!; edge < filled; edge++) weights[edge]! /= total
      starts[user + 1] = filled
      touched.length = 0
    },
    finish: () => ({ starts, targets, weights }),
  }
}

/** A set of hashes with false positives and no false negatives; it excludes nearly every hash. */
function createHashFilter(): { add: (hash: number) => void; mayHave: (hash: number) => boolean } {
  const marks = new Uint8Array(1 << 18)
  const place = (hash: number) => (hash ^ (hash >>> 14)) & (marks.length - 1)
  return {
    add(hash) {
      marks[place(hash)] = 1
    },
    mayHave: (hash) => marks[place(hash)] === 1,
  }
}

interface NameTable {
  /** Whether a definition with folder visibility may have this name. */
  isLocal: (hash: number) => boolean
  /** Adds weight to `gathered` for each file that defines the name. */
  addDefiners: (key: number, user: number, gathered: Float64Array, touched: number[]) => void
}

/** An open-addressing table from hash to a chain of files. */
function createNameTable(
  entries: readonly Entry[],
  families: Int32Array,
  folders: Int32Array,
  analyses: AnalysisTable,
): NameTable {
  const pool = analyses.pool()
  const pairs = entries.reduce(
    (sum, { analysis: record }) => sum + (analyses.records[record]!.to - analyses.records[record]!.middle) / 2,
    0,
  )
  const size = 1 << Math.max(4, Math.ceil(Math.log2(pairs * 2 + 1)))
  const keys = new Int32Array(size)
  const counts = new Uint8Array(size)
  const heads = new Int32Array(size)
  const qualities = new Uint8Array(size)
  const nextOf = new Int32Array(pairs + 1)
  const fileOf = new Int32Array(pairs + 1)
  const locals = createHashFilter()
  const known = createHashFilter()
  let filled = 0
  const slotOf = (key: number) => {
    let slot = (key ^ (key >>> 16)) & (size - 1)
    while (counts[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & (size - 1)
    return slot
  }
  entries.forEach((entry, file) => {
    const { middle: names, to } = analyses.records[entry.analysis]!
    for (let index = names; index < to; index += 2) {
      const quality = pool[index + 1]!
      const isLocal = (quality & localNameBit) !== 0
      if (isLocal) locals.add(pool[index]!)
      const key = pool[index]! ^ families[file]! ^ (isLocal ? folders[file]! : 0)
      known.add(key)
      const slot = slotOf(key)
      if (counts[slot]! > mostDefiners || (counts[slot] !== 0 && fileOf[heads[slot]!] === file)) continue
      keys[slot] = key
      counts[slot] = counts[slot]! + 1
      qualities[slot] = Math.max(qualities[slot]!, quality & ~localNameBit)
      filled++
      fileOf[filled] = file
      nextOf[filled] = heads[slot]!
      heads[slot] = filled
    }
  })
  return {
    isLocal: locals.mayHave,
    addDefiners(key, user, gathered, touched) {
      // Most words have no definition, and the table does not fit the processor's cache.
      if (!known.mayHave(key)) return
      const slot = slotOf(key)
      const definers = counts[slot]!
      if (definers === 0 || definers > mostDefiners) return
      const owed = qualities[slot]! / (definers * definers)
      for (let link = heads[slot]!; link !== 0; link = nextOf[link]!) {
        const file = fileOf[link]!
        if (file === user) continue
        if (gathered[file] === 0) touched.push(file)
        gathered[file] = gathered[file]! + owed
      }
    },
  }
}

/** A bit of the quality in a name pair: only files of the same folder can mean this name. */
export const localNameBit = 64

interface MentionTracker {
  /** Records that the user contains this word. */
  addMention: (hash: number, user: number) => void
  /** The share of a file's location that the user mentions; 1 in the same folder, where no import is needed. */
  mentionShare: (file: number, user: number) => number
}

/** Words of an import: the name of the file counts most, then its folder, then the folder above. */
function createMentionTracker(entries: readonly Entry[], analyses: AnalysisTable): MentionTracker {
  const numbers = new Map<number, number>()
  const sieve = createHashFilter()
  const numberOf = (word: string) => {
    const hash = hashName(word)
    const known = numbers.get(hash) ?? numbers.size
    numbers.set(hash, known)
    sieve.add(hash)
    return known
  }
  const words: number[][] = []
  let above: number[] = []
  for (let file = 0; file < entries.length; file++) {
    const { name, folder, analysis: record } = entries[file]!
    if (folder !== entries[file - 1]?.folder) above = folderWords(folder.path).map(numberOf)
    const own = fileNameWords(name, analyses.records[record]!.grammar).map(numberOf)
    words.push(own.length === 0 ? above : [...own, ...above].slice(0, 3))
  }
  const folders = entries.map((entry) => entry.folder)
  const lastUser = new Int32Array(numbers.size).fill(-1)
  return {
    addMention(hash, user) {
      const number = sieve.mayHave(hash) ? numbers.get(hash) : undefined
      if (number !== undefined) lastUser[number] = user
    },
    mentionShare(file, user) {
      if (folders[file] === folders[user]) return 1
      const wanted = words[file]!
      let sum = 0
      let all = 0
      for (let index = 0, weight = 1; index < wanted.length; index++, weight /= 2) {
        all += weight
        if (lastUser[wanted[index]!] === user) sum += weight
      }
      return all === 0 ? 0.5 : unmentionedFactor + ((1 - unmentionedFactor) * sum) / all
    },
  }
}

/** In Go, and for generic file names, only the folders count. */
function fileNameWords(name: string, grammar: string): string[] {
  if (grammar === 'go') return []
  const base = name.split('.', 1)[0]!
  return /^(?:index|main|mod|lib|init|__init__)$/.test(base) ? [] : splitWords(base).slice(0, 3)
}

/** Nearest folder first. */
function folderWords(path: string): string[] {
  return path.split('/').slice(-3).reverse().flatMap(splitWords).slice(0, 3)
}

/** Words as the scanner splits them; it does not keep words under four characters. */
function splitWords(name: string): string[] {
  return name.split(/[^\w$\x80-\uffff]+/).filter((word) => word.length > 3 && !/^\d/.test(word) && word !== 'src')
}
