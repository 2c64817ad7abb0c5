// Checks each summary of a history with git: whether the cited lines stand where a summary says, as they were when the statement was written.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { parsePatch } from '../handoff/domain/citations/line-diff.js'
import { findMentions } from '../handoff/domain/summary/path-mentions.js'
import {
  type Evidence,
  type Statement,
  type SummaryRecord,
  statementsOf,
} from '../handoff/domain/summary/summary-record.js'
import type { FileTable } from '../handoff/domain/survey.js'

export interface Checks {
  found: {
    citations: number
    /** Statements whose lines are not what they were when they were written. */
    stale: string[]
    /** Kept citations whose lines git’s own comparison of both commits touches: the same lines elsewhere. */
    rewritten: number
    deleted: string[]
    uncovered: string[]
  }
  check(commit: string, table: FileTable, record: SummaryRecord): Promise<void>
}

const run = promisify(execFile)

export function createChecks(gitDirectory: string): Checks {
  const found: Checks['found'] = { citations: 0, stale: [], rewritten: 0, deleted: [], uncovered: [] }
  /** The lines of each statement when it was written, by its text and its place in it. */
  const written = new Map<string, string>()
  const ever = new Set<string>()
  let before: { commit: string; record: SummaryRecord } | undefined
  const git = async (...words: string[]) =>
    (await run('git', ['-C', gitDirectory, ...words], { maxBuffer: 1e9 })).stdout

  const linesAt = async (commit: string, { path, from, to }: Evidence) => {
    const text = await git('show', `${commit}:${path}`).catch(() => '')
    const lines = text.replace(/^\ufeff/, '').split('\n')
    return lines
      .slice(from - 1, to)
      .map((line) => line.trimEnd())
      .join('\n')
  }

  /** The citations of a statement, each compared with what its lines were when it was written. */
  const checkLines = async (commit: string, { text, citations }: Statement, seen: Map<string, Evidence>) => {
    for (const [index, citation] of citations.entries()) {
      found.citations++
      const key = JSON.stringify([text, index, citation.digest])
      const lines = await linesAt(commit, citation)
      const then = written.get(key) ?? lines
      written.set(key, then)
      seen.set(key, citation)
      if (lines === '' || lines !== then)
        found.stale.push(`${commit.slice(0, 8)} ${citation.path}:${citation.from}-${citation.to}`)
    }
  }

  return {
    found,
    async check(commit, table, record) {
      const present = pathsOf(table)
      const seen = new Map<string, Evidence>()
      const isDeleted = (path: string) => ever.has(path) && !present.has(path)
      for (const statement of statementsOf(record)) {
        await checkLines(commit, statement, seen)
        const named = findMentions(statement.text).map(({ path }) => path.replace(/\/$/, ''))
        found.deleted.push(...named.filter(isDeleted).map((path) => `${commit.slice(0, 8)} ${path}`))
      }
      if (before) found.rewritten += await touched(git, before, commit, seen)
      found.uncovered.push(...uncovered(record, table).map((name) => `${commit.slice(0, 8)} ${name}/`))
      for (const path of present) ever.add(path)
      before = { commit, record }
    },
  }
}

/** How many citations that are still there git says were rewritten between both commits. */
async function touched(
  git: (...words: string[]) => Promise<string>,
  before: { commit: string; record: SummaryRecord },
  commit: string,
  now: ReadonlyMap<string, Evidence>,
): Promise<number> {
  const patch = await git('diff', '-U0', '-M', '--no-color', before.commit, commit)
  const files = patch.split(/^diff --git /m).slice(1)
  const hunks = new Map(
    files.flatMap((file) => {
      const path = /^--- a\/(.+)$/m.exec(file)?.[1]
      const start = file.search(/^@@ /m)
      return path === undefined || start < 0 ? [] : [[path, parsePatch(file.slice(start).trimEnd()) ?? []] as const]
    }),
  )
  let count = 0
  for (const { text, citations } of statementsOf(before.record)) {
    for (const [index, { path, from, to, digest }] of citations.entries()) {
      if (!now.has(JSON.stringify([text, index, digest]))) continue
      const isTouched = (hunks.get(path) ?? []).some((hunk) =>
        hunk.to < hunk.from ? from < hunk.from && hunk.from <= to : hunk.from <= to && from <= hunk.to,
      )
      if (isTouched) count++
    }
  }
  return count
}

function pathsOf(table: FileTable): Set<string> {
  const paths = new Set<string>()
  for (const { path } of table.files) {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) paths.add(at)
  }
  return paths
}

function uncovered({ sections, directories }: SummaryRecord, table: FileTable): string[] {
  const said = statementsOf({ sections }).flatMap(({ text, citations }) => [text, ...citations.map(({ path }) => path)])
  const tops = new Set(
    table.files.flatMap(({ path }) => (path.includes('/') ? [path.slice(0, path.indexOf('/'))] : [])),
  )
  return [...tops].filter((top) => !directories.includes(top) && !said.some((text) => text.includes(`${top}/`)))
}
