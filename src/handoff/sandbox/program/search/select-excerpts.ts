// Selects what is shown: the best region of each of the best files first, then the highest value per token until the limit is reached.
import type { Excerpt } from '../../../domain/answer.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import { redactedLines, splitLines } from '../../../domain/source-lines.js'
import type { CodeRegion } from './code-regions.js'
import { fitExcerpts, frameCost, linesCost, linesThatFit } from './excerpt-cost.js'
import type { RankedFile } from './rank-regions.js'
import { sizes, weights } from './ranking-weights.js'

/** Regions of one file that are considered. */
const regionsPerFile = 80
/** With less room nothing is shown. */
const minimumRoom = 25
/** A piece of a region that has no room as a whole has at least so many lines. */
const leastLines = 4

interface FileSelection {
  file: RankedFile
  order: number
  bytes: Buffer
  /** Read when its first region is considered. */
  lines: string[] | undefined
  taken: Set<number>
  /** Lines that were shown in an earlier round. */
  alreadyShown: Set<number>
}

interface RankedRegion {
  selection: FileSelection
  region: CodeRegion
  value: number
}

export function selectExcerpts(
  ranked: readonly RankedFile[],
  contents: ReadonlyMap<number, Buffer>,
  search: Search,
): Excerpt[] {
  const selections = ranked
    .slice(0, sizes.competing)
    .map((file, order) => createSelection(file, order, contents, search))
  let room = search.tokens
  const tooLarge: RankedRegion[] = []
  for (const one of rankRegions(selections)) {
    if (room < minimumRoom) break
    const cost = take(one, room)
    if (cost === undefined) tooLarge.push(one)
    else room -= cost
  }
  for (const { selection, region } of tooLarge) {
    if (room < minimumRoom) break
    room -= takeBeginning(selection, region, room)
  }
  return fitExcerpts(selections.flatMap(createExcerpts), search.tokens)
}

function createSelection(
  file: RankedFile,
  order: number,
  contents: ReadonlyMap<number, Buffer>,
  search: Search,
): FileSelection {
  const bytes = contents.get(file.file.index) ?? Buffer.alloc(0)
  const alreadyShown = new Set<number>()
  for (const { path, from, to } of search.shown) {
    if (path === file.file.path) for (let line = from; line <= to; line++) alreadyShown.add(line)
  }
  return { file, order, bytes, lines: undefined, taken: new Set(), alreadyShown }
}

function rankRegions(selections: readonly FileSelection[]): RankedRegion[] {
  const bestRegion = Math.max(...selections.map(({ file }) => file.regions[0]?.score ?? 0))
  const bestRank = selections[0]?.file.rank ?? 0
  const candidates = selections.flatMap((selection) =>
    selection.file.regions.slice(0, regionsPerFile).map((region, number) => {
      const trust = Math.exp((selection.file.rank - bestRank) * weights.fileTrust)
      const merit = (region.score / bestRegion) ** 0.5 * trust
      const value = (merit * 0.9 ** number) / (region.bytes + 60) ** 0.35
      return { selection, region, value: number === 0 && selection.order < sizes.shownFiles ? value * 100 : value }
    }),
  )
  return candidates.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value)
}

/** Takes the region with the gaps beside it, or alone. Returns what it cost, or undefined where it has no room. */
function take({ selection, region }: RankedRegion, room: number): number | undefined {
  const { taken } = selection
  for (const { from, to } of [fillGaps(selection, region), region]) {
    const numbers = newLines(selection, from, to)
    if (numbers.length === 0) return 0
    // A region beside shown lines needs no frame of its own.
    const touches = taken.has(from - 1) || taken.has(to + 1) || numbers.length <= region.to - region.from
    const cost = linesCost(linesOf(selection), numbers) + (touches ? 0 : frameCost(selection.file.file.path))
    if (cost > room) continue
    for (const number of numbers) taken.add(number)
    return cost
  }
  return undefined
}

/** What is left of the room shows the beginning of a region: its signature and first lines. */
function takeBeginning(selection: FileSelection, region: CodeRegion, room: number): number {
  const lines = linesOf(selection)
  const numbers = newLines(selection, region.from, region.to)
  const frame = frameCost(selection.file.file.path)
  const fitting = numbers.slice(0, linesThatFit(lines, numbers, room - frame))
  if (fitting.length < leastLines) return 0
  for (const number of fitting) selection.taken.add(number)
  return linesCost(lines, fitting) + frame
}

function linesOf(selection: FileSelection): string[] {
  selection.lines ??= splitLines(selection.bytes.toString('utf8'))
  return selection.lines
}

/** The region, and the few lines between it and shown lines. */
function fillGaps({ taken }: FileSelection, { from, to }: CodeRegion): { from: number; to: number } {
  let above = from - 1
  while (above > from - 2 - sizes.gap && !taken.has(above)) above--
  let below = to + 1
  while (below < to + 2 + sizes.gap && !taken.has(below)) below++
  return { from: taken.has(above) ? above + 1 : from, to: taken.has(below) ? below - 1 : to }
}

function newLines({ taken, alreadyShown }: FileSelection, from: number, to: number): number[] {
  const lines: number[] = []
  for (let line = from; line <= to; line++) if (!taken.has(line) && !alreadyShown.has(line)) lines.push(line)
  return lines
}

/** Neighbouring lines become one excerpt. */
function createExcerpts({ file, bytes, taken }: FileSelection): Excerpt[] {
  if (taken.size === 0) return []
  const excerpts: Excerpt[] = []
  const { path, blob } = file.file
  const lines = redactedLines(bytes)
  const score = Math.round(file.rank * 100) / 100
  for (const number of [...taken].sort((a, b) => a - b)) {
    const last = excerpts.at(-1)
    const line = lines[number - 1]
    if (line === undefined) continue
    if (last && last.from + last.lines.length === number) last.lines.push(line)
    else excerpts.push({ path, blob, from: number, lines: [line], source: 'code', score })
  }
  return excerpts
}
