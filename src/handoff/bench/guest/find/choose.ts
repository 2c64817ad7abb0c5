// Choosing what is shown: the best place of each of the best files first, then what is worth most for its length, until there is no room.
import type { Excerpt } from '../../../library/answer.js'
import type { Search } from '../../../library/records.js'
import type { Place } from './places.js'
import type { Ranked } from './rank.js'
import { fitExcerpts, frameCost, lineCost, linesOf, safeLines } from './shown.js'
import { sizes } from './weights.js'

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
    const numbers = newLines(choice, place)
    choice.lines ??= linesOf(choice.bytes.toString('utf8'))
    const { lines } = choice
    const cost = numbers.reduce((sum, number) => sum + lineCost(lines[number - 1] ?? '', number), 0)
    if (numbers.length === 0 || cost + frameCost(choice.file.file.path) > room) continue
    room -= cost + frameCost(choice.file.file.path)
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

function newLines({ taken, known }: Choice, place: Place): number[] {
  const lines: number[] = []
  for (let line = place.from; line <= place.to; line++) if (!taken.has(line) && !known.has(line)) lines.push(line)
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
