// The two sides of a comparison laid beside each other: what became of each path, which places of one side are worth seeing on the other, and
// what need not be shown twice.
import type { Excerpt } from '../answer.js'
import type { MoreRequest } from '../sandbox-protocol.js'
import type { PathChange } from './comparison-prompt.js'

/** By path, the blob that stood there. */
type Blobs = ReadonlyMap<string, string>

/** Changed paths that are named beyond those that are shown. */
const mostOthers = 40
/** Places asked for on the other side, and lines around each: what moved a little is still there. */
const mostCounterparts = 8
const around = 15

export function pathChanges(
  from: Blobs,
  to: Blobs,
  shown: readonly string[],
): { changes: PathChange[]; changedInAll: number } {
  const differing = [...new Set([...from.keys(), ...to.keys()])]
    .filter((path) => from.get(path) !== to.get(path))
    .sort()
  const named = new Set(shown)
  const others = differing.filter((path) => !named.has(path)).slice(0, mostOthers)
  const paths = [...[...named].sort(), ...others]
  return { changes: paths.map((path) => ({ path, change: changeOf(from, to, path) })), changedInAll: differing.length }
}

function changeOf(from: Blobs, to: Blobs, path: string): PathChange['change'] {
  const [before, after] = [from.get(path), to.get(path)]
  if (before === after) return 'same'
  if (before === undefined) return 'added'
  return after === undefined ? 'removed' : 'changed'
}

/** What to ask the other side for: its lines at the places found here, of files that it has and that differ, as far as it has not shown them. */
export function counterparts(
  found: readonly Excerpt[],
  blobs: Blobs,
  other: { blobs: Blobs; shown: { excerpts: readonly Excerpt[] } },
): MoreRequest[] {
  const wanted = found.filter(({ path, source, from, lines }) => {
    const blob = other.blobs.get(path)
    const differs = source === 'code' && blob !== undefined && blob !== blobs.get(path)
    return differs && !other.shown.excerpts.some((one) => one.path === path && overlap(one, { from, lines }))
  })
  return wanted.slice(0, mostCounterparts).map(({ path, from, lines }) => {
    return { kind: 'read', path, from: Math.max(1, from - around), to: from + lines.length - 1 + around }
  })
}

type Lines = Pick<Excerpt, 'from' | 'lines'>

const overlap = (a: Lines, b: Lines) => a.from < b.from + b.lines.length && b.from < a.from + a.lines.length

/** The earlier side without what the later one shows of the very same file. */
export function withoutTwins(earlier: readonly Excerpt[], later: readonly Excerpt[]): Excerpt[] {
  const holds = (whole: Excerpt, part: Excerpt) =>
    whole.path === part.path &&
    whole.blob === part.blob &&
    whole.from <= part.from &&
    part.from + part.lines.length <= whole.from + whole.lines.length
  return earlier.filter((one) => !later.some((other) => holds(other, one)))
}
