// Choosing what is shown: the best place of each of the best files first, then what is worth most for its length, until there is no room.
import type { Excerpt } from '../../../domain/answer.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import type { Place } from './code-regions.js'
import { fitExcerpts, frameCost, lineCost, linesOf, safeLines } from './excerpt-cost.js'
import type { Ranked } from './rank-regions.js'
import { sizes } from './ranking-weights.js'

/** Places of one file that compete. */
const competingPlaces = 80
/** With less there is nothing to be shown. */
const leastRoom = 200

interface Choice {
  file: Ranked
  order: number
  bytes: Buffer
  /** Read when the first of its places is considered. */
  lines: string[] | undefined
  taken: Set<number>
  /** Lines that need not be shown again. */
  known: Set<number>
}

interface Range {
  from: number
  to: number
}

interface Bid {
  choice: Choice
  place: Place
  value: number
}

export function chooseExcerpts(
  ranked: readonly Ranked[],
  contents: ReadonlyMap<number, Buffer>,
  search: Search,
): Excerpt[] {
  const choices = ranked.slice(0, sizes.competing).map((file, order) => choiceOf(file, order, contents, search))
  let room = search.textBytes
  for (const { choice, place } of bidsOf(choices)) {
    if (room < leastRoom) break
    choice.lines ??= linesOf(choice.bytes.toString('utf8'))
    const { lines, taken } = choice
    const reach = bridged(lines, taken, place)
    const numbers = newLines(choice, reach)
    const text = numbers.reduce((sum, number) => sum + lineCost(lines[number - 1] ?? '', number), 0)
    // What stands beside lines that are shown needs no frame of its own.
    const touches = taken.has(reach.from - 1) || taken.has(reach.to + 1) || numbers.length <= place.to - place.from
    const cost = text + (touches ? 0 : frameCost(choice.file.file.path))
    if (numbers.length === 0 || cost > room) continue
    room -= cost
    for (const number of numbers) choice.taken.add(number)
  }
  return fitExcerpts(choices.flatMap(excerptsOf), search.textBytes)
}

function choiceOf(file: Ranked, order: number, contents: ReadonlyMap<number, Buffer>, search: Search): Choice {
  const bytes = contents.get(file.file.index) ?? Buffer.alloc(0)
  const known = new Set<number>()
  for (const { path, from, to } of search.shown) {
    if (path === file.file.path) for (let line = from; line <= to; line++) known.add(line)
  }
  return { file, order, bytes, lines: undefined, taken: new Set(), known }
}

function bidsOf(choices: readonly Choice[]): Bid[] {
  const bestPlace = Math.max(...choices.map(({ file }) => file.places[0]?.score ?? 0))
  const bestRank = choices[0]?.file.rank ?? 1
  const bids = choices.flatMap((choice) =>
    choice.file.places.slice(0, competingPlaces).map((place, number) => {
      const merit = (place.score / bestPlace) ** 0.5 * (choice.file.rank / bestRank)
      const value = (merit * 0.9 ** number) / (place.bytes + 60) ** 0.35
      return { choice, place, value: number === 0 && choice.order < sizes.shownFiles ? value * 100 : value }
    }),
  )
  return bids.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value)
}

/** A place, and the empty lines between it and what is shown above and below. */
function bridged(lines: readonly string[], taken: ReadonlySet<number>, { from, to }: Place): Range {
  let above = from - 1
  while (above > 0 && lines[above - 1] === '' && !taken.has(above)) above--
  let below = to + 1
  while (lines[below - 1] === '' && !taken.has(below)) below++
  return { from: taken.has(above) ? above + 1 : from, to: taken.has(below) ? below - 1 : to }
}

function newLines({ taken, known }: Choice, range: Range): number[] {
  const lines: number[] = []
  for (let line = range.from; line <= range.to; line++) if (!taken.has(line) && !known.has(line)) lines.push(line)
  return lines
}

/** Neighbouring lines become one excerpt. */
function excerptsOf({ file, bytes, taken }: Choice): Excerpt[] {
  if (taken.size === 0) return []
  const excerpts: Excerpt[] = []
  const { path, blob } = file.file
  const lines = safeLines(bytes)
  for (const number of [...taken].sort((a, b) => a - b)) {
    const last = excerpts.at(-1)
    const line = lines[number - 1]
    if (line === undefined) continue
    if (last && last.from + last.lines.length === number) last.lines.push(line)
    else
      excerpts.push({
        path,
        blob,
        from: number,
        lines: [line],
        source: 'code',
        score: Math.round(file.rank * 100) / 100,
      })
  }
  return excerpts
}
