// Reads the journal of a repository, and checks that no entry was changed, added or removed.
import { HandoffError } from '../domain/errors.js'
import type { Journal, JournalEntry } from '../domain/ports.js'
import { fullName, type Repository } from '../domain/run.js'
import { journalOf } from './audit-log.js'

export interface AuditEntry {
  at: string
  type: string
  who: string
  commit: string
  /** A question, a correction, why something was refused, or the id of a run. */
  text: string
  cost?: number
  run?: string
  answer?: string
}

/** `problem` says how the chain is broken. Each entry is given on before the verdict is known. */
export async function readAudit(
  journal: Journal,
  root: string,
  repository: Repository,
  onEntry: (entry: AuditEntry) => void,
  signal: AbortSignal,
): Promise<{ entries: number; problem?: string | undefined }> {
  const { id } = journalOf(root, repository)
  // Asked first: entries that come while the list is read only make the list longer.
  const verdict = await journal.verify(id, signal)
  if (verdict === undefined) {
    throw new HandoffError('not-found', `There is no journal of ${fullName(repository)}.`, {
      next: 'Set HANDOFF_JOURNAL to true where commits are summarised and questions are answered; a drive9 server of before 2026 has no journals.',
    })
  }
  let problem = verdict.ok ? undefined : 'drive9 says that its hashes do not match its entries.'
  let entries = 0
  let head: string | undefined
  for await (const entry of journal.entries(id, signal)) {
    entries += 1
    if (entry.seq !== entries) problem ??= `entry ${entries} is missing.`
    if (head !== undefined && entry.previousHash !== head)
      problem ??= `entry ${entry.seq} does not follow the one before it.`
    if (entries === verdict.entries && entry.hash !== verdict.headHash)
      problem ??= 'the last entry is not the one that drive9 verified.'
    head = entry.hash
    onEntry(readEntry(entry))
  }
  if (entries < verdict.entries) problem ??= `${verdict.entries - entries} entries that drive9 verified are not listed.`
  return { entries, problem }
}

function readEntry({ at, type, actor, summary }: JournalEntry): AuditEntry {
  const { run, answer, commit, question, reason, text: said, cost } = summary
  const text = [question, said, reason, run].find((value) => typeof value === 'string')
  const amount = (cost as { amount?: unknown } | undefined)?.amount
  return {
    at,
    type,
    who: actor,
    commit: typeof commit === 'string' ? commit : '',
    text: String(text ?? '')
      .replace(/\s+/g, ' ')
      .slice(0, 500),
    ...(typeof amount === 'number' ? { cost: amount } : {}),
    ...(typeof run === 'string' ? { run } : {}),
    ...(typeof answer === 'string' ? { answer } : {}),
  }
}
