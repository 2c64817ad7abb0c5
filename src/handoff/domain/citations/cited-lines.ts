// The lines a reader sees who follows a citation: those it names and some around them, as they were shown to the model. They are kept with the
// answer, because the machine that could show the file is gone.
import type { Citation, CompletedAnswer, Excerpt } from '../answer.js'

type Cited = NonNullable<CompletedAnswer['cited']>[number]

const around = 8
const mostCharacters = 100_000
const longestLine = 2_000

export function citedLines(citations: readonly Citation[], excerpts: readonly Excerpt[]): Cited[] {
  const cited: Cited[] = []
  let room = mostCharacters
  for (const citation of citations.filter((one) => one.verified)) {
    if (cited.some((one) => covers(one, citation))) continue
    const excerpt = excerpts.find((one) => one.source === 'code' && covers(one, citation))
    if (!excerpt) continue
    const one = cut(excerpt, citation)
    room -= one.lines.reduce((sum, line) => sum + line.length, 0)
    if (room < 0 || cited.length === 200) break
    cited.push(one)
  }
  return cited
}

function cut(excerpt: Excerpt, { from, to }: Citation): Cited {
  const first = Math.max(excerpt.from, from - around)
  const last = Math.min(excerpt.from + excerpt.lines.length - 1, to + around, first + 999)
  const lines = excerpt.lines.slice(first - excerpt.from, last - excerpt.from + 1)
  return {
    path: excerpt.path,
    blob: excerpt.blob,
    from: first,
    lines: lines.map((line) => line.slice(0, longestLine)),
  }
}

export function covers(
  piece: { path: string; commit?: string | undefined; from: number; lines: string[] },
  place: Pick<Citation, 'path' | 'from' | 'to' | 'commit'>,
): boolean {
  const sameCommit = place.commit === undefined || piece.commit === place.commit
  return (
    sameCommit && piece.path === place.path && piece.from <= place.from && place.to < piece.from + piece.lines.length
  )
}
