// One process that does one thing and says what it took: the survey of a commit, the reading of every file (the floor under any survey), or
// nothing at all. survey-speed.ts starts it from a bundle, as the program in a sandbox is.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { survey } from '../handoff/sandbox/program/survey/index.js'

export interface ChildReport {
  /** The most memory the process ever had. */
  kilobytes: number
  files: number
  /** Bytes of the files that were looked into, or read. */
  bytes: number
  texts: number
}

const [work = '', ...words] = process.argv.slice(2)

async function surveyCommit(
  gitDirectory: string,
  commit: string,
  textBytes: number,
  countBytes: boolean,
): Promise<Omit<ChildReport, 'kilobytes'>> {
  const limits = { textBytes, include: [], exclude: [] }
  const found = await survey({ gitDirectory, commit, limits })
  // The tables are part of the work, as in the sandbox program.
  let tables = 0
  for (const table of [found.fileTableJson(), found.outlineJson()])
    for (const piece of table) tables += Buffer.from(piece).length
  // Only the first survey counts bytes; the others are timed.
  const rows = countBytes ? found.table.files : []
  const kept = rows.filter(({ state, reason }) => state !== 'skipped' || reason === 'budget')
  return {
    files: found.survey.counts.files,
    bytes: kept.reduce((sum, { size }) => sum + size, 0),
    texts: found.texts.length + (tables > 0 ? 0 : 1),
  }
}

function readEverything(directory: string, list: string): Omit<ChildReport, 'kilobytes'> {
  let files = 0
  let bytes = 0
  for (const path of readFileSync(list, 'utf8').split('\0')) {
    if (path === '') continue
    bytes += readFileSync(join(directory, path)).length
    files++
  }
  return { files, bytes, texts: 0 }
}

const nothing = { files: 0, bytes: 0, texts: 0 }
const done =
  work === 'survey'
    ? await surveyCommit(words[0]!, words[1]!, Number(words[2]), words[3] === 'count')
    : work === 'floor'
      ? readEverything(words[0]!, words[1]!)
      : nothing
const report: ChildReport = { ...done, kilobytes: process.resourceUsage().maxRSS }
process.stdout.write(JSON.stringify(report))
