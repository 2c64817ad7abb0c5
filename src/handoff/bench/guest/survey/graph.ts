// Which files the others rest on: a graph from "uses a name" to "defines it", and PageRank over it. A name defined in one place says more
// than one defined in five, and one defined everywhere says nothing.
import { languageOfGrammar } from './languages.js'
import type { Store } from './store.js'
import type { Entry } from './tree.js'

/** A name defined in more files than this means none of them. */
const mostDefiners = 6
const damping = 0.85
const rounds = 20

/** One number for each entry, in their order; they add up to 1. */
export function centrality(entries: readonly Entry[], store: Store): Float64Array {
  const count = entries.length
  if (count === 0) return new Float64Array(0)
  return pageRank(count, buildEdges(entries, store))
}

interface Edges {
  /** Where the edges of each file begin; one more at the end. */
  starts: Int32Array
  targets: Int32Array
  /** Those of one file add up to 1. */
  weights: Float32Array
}

function buildEdges(entries: readonly Entry[], store: Store): Edges {
  const families = entries.map((entry) => familyNumber(languageOfGrammar(store.records[entry.record]!.grammar).family))
  const names = collectNames(entries, families, store)
  const pool = store.pool()
  const gathered = new Float64Array(entries.length)
  const starts = new Int32Array(entries.length + 1)
  let targets = new Int32Array(entries.length * 8 + 64)
  let weights = new Float32Array(targets.length)
  const touched: number[] = []
  let filled = 0
  for (let user = 0; user < entries.length; user++) {
    const { from, names: to } = store.records[entries[user]!.record]!
    for (let index = from; index < to; index++) names.visit(pool[index]! ^ families[user]!, user, gathered, touched)
    if (filled + touched.length > targets.length) {
      targets = grown(targets, new Int32Array((filled + touched.length) * 2))
      weights = grown(weights, new Float32Array(targets.length))
    }
    filled = settle(gathered, touched, targets, weights, filled)
    starts[user + 1] = filled
  }
  return { starts, targets, weights }
}

function grown<A extends Int32Array | Float32Array>(array: A, larger: A): A {
  larger.set(array)
  return larger
}

/** Many shared names tie two files more closely than one, but not that many times more. */
function settle(
  gathered: Float64Array,
  touched: number[],
  targets: Int32Array,
  weights: Float32Array,
  filled: number,
): number {
  let total = 0
  for (const target of touched) total += Math.sqrt(gathered[target]!)
  let at = filled
  for (const target of touched) {
    targets[at] = target
    weights[at++] = Math.sqrt(gathered[target]!) / total
    gathered[target] = 0
  }
  touched.length = 0
  return at
}

/** Different families never share a hash but by chance. */
function familyNumber(family: string): number {
  let hash = 7
  for (let index = 0; index < family.length; index++) hash = Math.imul(hash, 31) + family.charCodeAt(index)
  return Math.imul(hash, 0x9e3779b1)
}

interface Names {
  /** Adds to `gathered` what the user of a name owes to those who define it. */
  visit: (key: number, user: number, gathered: Float64Array, touched: number[]) => void
}

/** An open table from hash to a chain of definers. */
function collectNames(entries: readonly Entry[], families: readonly number[], store: Store): Names {
  const pool = store.pool()
  const pairs = entries.reduce(
    (sum, entry) => sum + (store.records[entry.record]!.to - store.records[entry.record]!.names) / 2,
    0,
  )
  const size = 1 << Math.max(4, Math.ceil(Math.log2(pairs * 2 + 1)))
  const keys = new Int32Array(size)
  const counts = new Uint8Array(size)
  const heads = new Int32Array(size)
  const qualities = new Uint8Array(size)
  const nextOf = new Int32Array(pairs + 1)
  const fileOf = new Int32Array(pairs + 1)
  let filled = 0
  const slotOf = (key: number) => {
    let slot = (key ^ (key >>> 16)) & (size - 1)
    while (counts[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & (size - 1)
    return slot
  }
  entries.forEach((entry, file) => {
    const { names, to } = store.records[entry.record]!
    for (let index = names; index < to; index += 2) {
      const key = pool[index]! ^ families[file]!
      const slot = slotOf(key)
      if (counts[slot]! > mostDefiners || (counts[slot] !== 0 && fileOf[heads[slot]!] === file)) continue
      keys[slot] = key
      counts[slot] = counts[slot]! + 1
      qualities[slot] = Math.max(qualities[slot]!, pool[index + 1]!)
      filled++
      fileOf[filled] = file
      nextOf[filled] = heads[slot]!
      heads[slot] = filled
    }
  })
  return {
    visit(key, user, gathered, touched) {
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

function pageRank(count: number, { starts, targets, weights }: Edges): Float64Array {
  let ranks = new Float64Array(count).fill(1 / count)
  for (let round = 0; round < rounds; round++) {
    const next = new Float64Array(count)
    let loose = 0
    for (let file = 0; file < count; file++) {
      const rank = ranks[file]!
      const end = starts[file + 1]!
      if (starts[file] === end) loose += rank
      for (let edge = starts[file]!; edge < end; edge++) next[targets[edge]!]! += rank * weights[edge]!
    }
    const base = (1 - damping + damping * loose) / count
    for (let file = 0; file < count; file++) next[file] = base + damping * next[file]!
    ranks = next
  }
  return ranks
}
