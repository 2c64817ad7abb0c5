// The tables of the evaluation, as text for a terminal and as Markdown for docs/search-quality.md.
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import type { Result } from './search-quality-types.js'

type Measure = Exclude<keyof Result, 'repository' | 'language' | 'shape'>

const columns: [title: string, key: Measure, percent: boolean][] = [
  ['hit@1', 'hit1', true],
  ['hit@5', 'hit5', true],
  ['Acc@1', 'acc1', true],
  ['Acc@5', 'acc5', true],
  ['Acc@10', 'acc10', true],
  ['recall@10', 'recall10', true],
  ['lines', 'lines', true],
  ['gold lines', 'lineRecall', true],
  ['F1@200', 'lineF1', true],
  ['tokens', 'tokens', false],
  ['ms', 'milliseconds', false],
]

/** Rows by name; each cell is the mean of its column. */
export function table(title: string, rows: [name: string, results: readonly Result[]][]): string[][] {
  return [
    [title, 'asked', ...columns.map(([head]) => head)],
    ...rows
      .filter(([, results]) => results.length > 0)
      .map(([name, results]) => [name, String(results.length), ...columns.map((column) => mean(results, column))]),
  ]
}

function mean(results: readonly Result[], [, key, percent]: (typeof columns)[number]): string {
  const values = results.flatMap((result) => result[key] ?? [])
  if (values.length === 0) return '–'
  const average = values.reduce((sum, value) => sum + value, 0) / values.length
  return percent ? (100 * average).toFixed(1) : String(Math.round(average))
}

export const groupRows = (results: readonly Result[], key: 'repository' | 'language' | 'shape') =>
  [...Map.groupBy(results, (result) => result[key])].sort(([a], [b]) => (a < b ? -1 : 1))

export function asText(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
    )
    .join('\n')
}

export function asMarkdown([head = [], ...rows]: string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

const introduction = `# How well the search finds lines

Written by \`npm run eval\`. No model takes part. Each question may be shown 12,000 tokens of numbered lines. Acc@k counts a question when all its gold files are
among the first k, hit@k when one is. The weights were learnt from \`questions\`, \`issues\` and \`history\`, but for one that a grid of
values gave: \`npm run eval:learn\` says what remains when a repository is left out.
`

/** Replaces the section of this name and keeps the others. */
export async function writeSection(file: string, name: string, paragraphs: readonly string[]): Promise<void> {
  const old = existsSync(file) ? await readFile(file, 'utf8') : introduction
  const sections = old.split(/\n(?=## )/).filter((section) => !section.startsWith(`## ${name}\n`))
  const added = [`## ${name}`, ...paragraphs].join('\n\n')
  await writeFile(file, `${[...sections.map((section) => section.trim()), added].join('\n\n')}\n`)
}
