// Which statements of an earlier summary are still supported. A statement lives as long as its evidence: it stays word for word while its lines
// are there, and is lost with any of them, or with a path that it names.

import type { Relocation } from '../sandbox-protocol-decoder.js'
import { type PathIndex, parentOf } from './path-index.js'
import { mapMentions } from './path-mentions.js'
import {
  type Evidence,
  type Section,
  type Statement,
  type SummaryRecord,
  summaryRecordLimits,
} from './summary-record.js'

export interface KeptSection {
  heading: string
  kept: Statement[]
  lost: LostStatement[]
}

interface LostStatement {
  statement: Statement
  /** How many statements of its section before it stay. */
  after: number
}

export interface KeptSummary {
  sections: KeptSection[]
  /** True if nothing is lost, and each place has the path and the lines that it had. */
  unchanged: boolean
}

interface KeepingInput {
  record: SummaryRecord
  relocations: readonly Relocation[]
  /** Files that moved unchanged: former path to present path. */
  renamed: ReadonlyMap<string, string>
  pathIndex: PathIndex
}

export function keepStatements({ record, relocations, renamed, pathIndex }: KeepingInput): KeptSummary {
  const found = new Map(relocations.map((relocation) => [placeKey(relocation), relocation]))
  const rename = renamer(relocations, renamed, pathIndex)
  let unchanged = true
  const sections = record.sections.map((section): KeptSection => {
    const result: KeptSection = { heading: section.heading, kept: [], lost: [] }
    for (const statement of section.statements) {
      const now = keep(statement, found, rename, pathIndex)
      if (now) result.kept.push(now)
      else result.lost.push({ statement, after: result.kept.length })
      unchanged &&= now !== undefined && readsTheSame(now, statement)
    }
    return dropIntroduction(result, section)
  })
  return { sections, unchanged }
}

export const placeKey = ({ path, blob, from, to }: Pick<Evidence, 'path' | 'blob' | 'from' | 'to'>) =>
  JSON.stringify([path, blob, from, to])

const readsTheSame = (a: Statement, b: Statement) => {
  const shown = ({ text, citations }: Statement) =>
    JSON.stringify([text, ...citations.map(({ path, from, to }) => [path, from, to])])
  return shown(a) === shown(b)
}

/** The statement with its present places; undefined if it is lost. */
function keep(
  statement: Statement,
  found: ReadonlyMap<string, Relocation>,
  rename: (path: string) => string | undefined,
  pathIndex: PathIndex,
): Statement | undefined {
  const citations: Evidence[] = []
  for (const citation of statement.citations) {
    const now = found.get(placeKey(citation))?.now
    if (!now || !pathIndex.exists(now.path) || now.path.length > summaryRecordLimits.path) return undefined
    citations.push({ ...now, digest: citation.digest })
  }
  const { names = [] } = statement
  const nowNames = names.map((name) => (pathIndex.exists(name) ? name : rename(name)))
  if (nowNames.includes(undefined)) return undefined
  const text = nowNames.every((name, index) => name === names[index])
    ? statement.text
    : mapMentions(statement.text, ({ path }) => (pathIndex.exists(path) ? undefined : rename(path)), names)
  if (text.length > summaryRecordLimits.text) return undefined
  return { ...statement, text, citations, ...(names.length === 0 ? {} : { names: nowNames as string[] }) }
}

/** A sentence without evidence introduces the statements after it: it is lost with half of them. */
function dropIntroduction(result: KeptSection, { statements }: Section): KeptSection {
  const [first] = result.kept
  const cited = statements.filter(({ citations }) => citations.length > 0).length
  const left = result.kept.filter(({ citations }) => citations.length > 0).length
  if (first === undefined || first.citations.length > 0 || cited === 0 || left * 2 >= cited) return result
  const lost = result.lost.map((one) => ({ ...one, after: Math.max(0, one.after - 1) }))
  return { ...result, kept: result.kept.slice(1), lost: [{ statement: first, after: 0 }, ...lost] }
}

// ── renames ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a file or directory is called now. A directory has moved if a file in it went to the same place in another one. */
function renamer(
  relocations: readonly Relocation[],
  renamed: ReadonlyMap<string, string>,
  pathIndex: PathIndex,
): (path: string) => string | undefined {
  const moves = new Map(renamed)
  for (const { path, now } of relocations) if (now && now.path !== path) moves.set(path, now.path)
  for (const [before, now] of [...moves]) addDirectories(moves, before, now)
  return (path) => {
    const slash = path.endsWith('/') ? '/' : ''
    const now = moves.get(slash ? path.slice(0, -1) : path)
    // An unusual path is never inserted into a text.
    return now !== undefined && pathIndex.exists(now) && !/[\p{Cc}`<\u2028\u2029]/u.test(now) ? now + slash : undefined
  }
}

function addDirectories(moves: Map<string, string>, before: string, now: string): void {
  let [from, to] = [before, now]
  while (
    from.slice(from.lastIndexOf('/')) === to.slice(to.lastIndexOf('/')) &&
    from.includes('/') &&
    to.includes('/')
  ) {
    from = parentOf(from)
    to = parentOf(to)
    if (from !== to && from !== '' && !moves.has(from)) moves.set(from, to)
  }
}
