// Selects what is shown: the best region of each of the best files first, then the highest value per byte until the limit is reached.
import type { Excerpt } from '../../../domain/answer.js'
import type { Search } from '../../../domain/sandbox-protocol.js'
import type { CodeRegion } from './code-regions.js'
import { fitExcerpts, frameCost, lineCost, redactedLines, splitLines } from './excerpt-cost.js'
import type { RankedFile } from './rank-regions.js'
import { sizes } from './ranking-weights.js'

/** Regions of one file that are considered. */
const regionsPerFile = 80
/** With less room nothing is shown. */
const minimumRoom = 200

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

interface LineRange {
  from: number
  to: number
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
  let room = search.textBytes
  for (const { selection, region } of rankRegions(selections)) {
    if (room < minimumRoom) break
    selection.lines ??= splitLines(selection.bytes.toString('utf8'))
    const { lines, taken } = selection
    const reach = includeBlankLines(lines, taken, region)
    const numbers = newLines(selection, reach)
    const text = numbers.reduce((sum, number) => sum + lineCost(lines[number - 1] ?? '', number), 0)
    // A region beside shown lines needs no frame of its own.
    const touches = taken.has(reach.from - 1) || taken.has(reach.to + 1) || numbers.length <= region.to - region.from
    const cost = text + (touches ? 0 : frameCost(selection.file.file.path))
    if (numbers.length === 0 || cost > room) continue
    room -= cost
    for (const number of numbers) selection.taken.add(number)
  }
  return fitExcerpts(selections.flatMap(createExcerpts), search.textBytes)
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
  const bestRank = selections[0]?.file.rank ?? 1
  const candidates = selections.flatMap((selection) =>
    selection.file.regions.slice(0, regionsPerFile).map((region, number) => {
      const merit = (region.score / bestRegion) ** 0.5 * (selection.file.rank / bestRank)
      const value = (merit * 0.9 ** number) / (region.bytes + 60) ** 0.35
      return { selection, region, value: number === 0 && selection.order < sizes.shownFiles ? value * 100 : value }
    }),
  )
  return candidates.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value)
}

/** The region and the empty lines between it and shown lines. */
function includeBlankLines(lines: readonly string[], taken: ReadonlySet<number>, { from, to }: CodeRegion): LineRange {
  let above = from - 1
  while (above > 0 && lines[above - 1] === '' && !taken.has(above)) above--
  let below = to + 1
  while (lines[below - 1] === '' && !taken.has(below)) below++
  return { from: taken.has(above) ? above + 1 : from, to: taken.has(below) ? below - 1 : to }
}

function newLines({ taken, alreadyShown }: FileSelection, range: LineRange): number[] {
  const lines: number[] = []
  for (let line = range.from; line <= range.to; line++)
    if (!taken.has(line) && !alreadyShown.has(line)) lines.push(line)
  return lines
}

/** Neighbouring lines become one excerpt. */
function createExcerpts({ file, bytes, taken }: FileSelection): Excerpt[] {
  if (taken.size === 0) return []
  const excerpts: Excerpt[] = []
  const { path, blob } = file.file
  const lines = redactedLines(bytes)
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
