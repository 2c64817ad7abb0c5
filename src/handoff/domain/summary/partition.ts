// Splits a repository into parts along its directories, each within a token limit, and groups parts to combine their descriptions.
import { parentOf } from './path-index.js'

interface Sized {
  path: string
  tokens: number
}

interface Group<T> {
  /** The deepest directory that contains the whole group. */
  directory: string
  items: T[]
}

/**
 * A leaf is a whole directory if it fits, else its subdirectories and files in groups. Small neighbours share a leaf. An item above the bound
 * gets a leaf of its own. `items` are ordered by path.
 */
export function splitIntoLeaves<T extends Sized>(items: readonly T[], bound: number): Group<T>[] {
  const groups: Group<T>[] = []
  const timer = (from: number, to: number, depth: number): void => {
    if (sum(items, from, to) <= bound || to - from === 1) pack(groups, items.slice(from, to), bound)
    else for (const [start, end] of runs(items, from, to, depth)) timer(start, end, depth + 1)
  }
  if (items.length > 0) timer(0, items.length, 0)
  return groups.map((group) => ({ ...group, directory: commonDirectory(group.items.map((item) => item.path)) }))
}

/** Appends to the last group if both fit, so that many small directories do not become many requests. */
function pack<T extends Sized>(groups: Group<T>[], items: T[], bound: number): void {
  const last = groups.at(-1)
  const before = last ? sum(last.items, 0, last.items.length) : 0
  const room = before + sum(items, 0, items.length) <= bound
  // A group that is half full does not extend into another top-level directory.
  if (last && room && (before < bound / 2 || topOf(last.items[0]!) === topOf(items[0]!))) last.items.push(...items)
  else groups.push({ directory: '', items })
}

const topOf = (item: Sized) => item.path.slice(0, item.path.indexOf('/') + 1)

function sum(items: readonly Sized[], from: number, to: number): number {
  let total = 0
  for (let index = from; index < to; index++) total += items[index]!.tokens
  return total
}

/** Neighbours with the same name at this depth; a file at this depth stands alone. */
function runs(items: readonly Sized[], from: number, to: number, depth: number): [number, number][] {
  const result: [number, number][] = []
  const name = (index: number) => {
    const parts = items[index]!.path.split('/')
    return parts.length > depth + 1 ? parts[depth] : undefined
  }
  for (let start = from; start < to; ) {
    const own = name(start)
    let end = start + 1
    while (own !== undefined && end < to && name(end) === own) end++
    result.push([start, end])
    start = end
  }
  return result
}

export function commonDirectory(paths: readonly string[]): string {
  let common = parentOf(paths[0] ?? '')
  for (const path of paths) {
    while (common !== '' && !path.startsWith(`${common}/`)) common = parentOf(common)
  }
  return common
}

/**
 * Groups neighbours, at most `most` per group, and cuts where the directories differ most. Undefined if there is nothing to group.
 * `names` are the directories of the parts, in order.
 */
export function groupNeighbours(names: readonly string[], most: number): [from: number, to: number][] | undefined {
  if (names.length <= most || most < 2) return undefined
  const groups: [number, number][] = []
  for (let from = 0; from < names.length; ) {
    const furthest = Math.min(names.length, from + most)
    const to = furthest === names.length ? furthest : bestCut(names, from, furthest)
    groups.push([from, to])
    from = to
  }
  return groups
}

function bestCut(names: readonly string[], from: number, furthest: number): number {
  let best = furthest
  let depth = Number.POSITIVE_INFINITY
  for (let at = furthest; at > from + Math.floor((furthest - from) / 2); at--) {
    const shared = sharedDepth(names[at - 1]!, names[at]!)
    if (shared < depth) {
      best = at
      depth = shared
    }
  }
  return best
}

function sharedDepth(a: string, b: string): number {
  const one = a.split('/')
  const other = b.split('/')
  let depth = 0
  while (depth < one.length && depth < other.length && one[depth] === other[depth]) depth++
  return depth
}
