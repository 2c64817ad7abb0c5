// What happened to a repository, in the journal of the drive's server: seals, answers, corrections, removals and refused questions. It is never in
// the way: an entry that cannot be written is a notice, and a server without journals is not asked again.
import type { AppContext } from '../context.js'
import type { CompletedAnswer } from '../domain/answer.js'
import type { Correction } from '../domain/corrections/correction.js'
import { isHandoffError } from '../domain/errors.js'
import type { Handoff } from '../domain/handoff-record.js'
import type { Journal, NewEntry, Ports } from '../domain/ports.js'
import { fullName, layout, type Repository } from '../domain/run.js'
import { sha256 } from '../store/run-store.js'

export type AuditTools = Pick<AppContext, 'journal' | 'root' | 'background'> & { ports: Pick<Ports, 'clock' | 'emit'> }

/** How long the work that is noted waits for its note. */
const patienceMs = 5_000

/** The journal of a repository; its id has neither slashes nor more than 128 characters, whatever the name is. */
export function journalOf(root: string, repository: Repository): { id: string; title: string } {
  const place = layout(root, repository).repository
  return {
    id: `handoff-${sha256(place).slice(0, 40)}`,
    title: `${repository.host}/${fullName(repository).toLowerCase()}`,
  }
}

export function noteSeal(tools: AuditTools, repository: Repository, handoff: Handoff): Promise<void> {
  const { run, commit, ref, model, usage, cost, requestedBy, secrets, partial } = handoff
  const actor = requestedBy?.actor
  return note(tools, repository, `seal-${run}`, {
    type: 'seal',
    ...(actor === undefined ? {} : { actor: { type: 'person', id: actor } }),
    subjects: [`commit:${commit}`, `run:${run}`],
    summary: {
      run,
      commit,
      ref,
      model: model.name,
      usage,
      cost,
      secrets,
      partial,
      workflowRun: requestedBy?.workflowRun,
    },
  })
}

export function noteAnswer(tools: AuditTools, repository: Repository, record: CompletedAnswer): Promise<void> {
  const { id, run, commit, question, asker, model, usage, cost, completedAt, unanswered, citations } = record
  return note(tools, repository, `answer-${id}-${Date.parse(completedAt)}`, {
    type: 'answer',
    ...(asker === undefined ? {} : { actor: { type: 'asker', id: asker } }),
    subjects: [`commit:${commit}`, `run:${run}`, `answer:${id}`],
    summary: { answer: id, run, commit, question, model, usage, cost, unanswered, citations: citations.length },
  })
}

/** A correction that was written, or those that a command removed. `command` is the comment that says so. */
export function noteCorrection(
  tools: AuditTools,
  repository: Repository,
  command: { id: string; by: string; done: 'written' | 'removed' },
  { run, answer, corrections }: { run: Handoff; answer?: string; corrections: readonly Correction[] },
): Promise<void> {
  const type = command.done === 'written' ? 'correction' : 'retraction'
  return note(tools, repository, `${type}-${command.id}`, {
    type,
    actor: { type: 'person', id: command.by },
    subjects: [`commit:${run.commit}`, `run:${run.run}`, ...(answer === undefined ? [] : [`answer:${answer}`])],
    summary: {
      run: run.run,
      commit: run.commit,
      answer,
      corrections: corrections.map(({ id }) => id),
      text: corrections
        .map(({ text }) => text)
        .join(' · ')
        .slice(0, longestText),
    },
  })
}

/** Of corrections, in an entry. */
const longestText = 2_000

/** The most entries that drive9 takes in one request. */
const mostAtOnce = 500

export async function noteRemoval(tools: AuditTools, repository: Repository, runs: readonly string[]): Promise<void> {
  for (let from = 0; from < runs.length; from += mostAtOnce) {
    const some = runs.slice(from, from + mostAtOnce)
    const key = `prune-${sha256(some.join(' ')).slice(0, 40)}`
    await note(
      tools,
      repository,
      key,
      ...some.map((run) => ({ type: 'prune', subjects: [`run:${run}`], summary: { run } })),
    )
  }
}

/** At most one for a caller and a day, so that a caller without a budget cannot fill the journal. */
export function noteRefusal(tools: AuditTools, repository: Repository, caller: string, reason: string): Promise<void> {
  const day = new Date(tools.ports.clock.now()).toISOString().slice(0, 10)
  const key = `refusal-${day}-${sha256(`${caller} ${reason}`).slice(0, 40)}`
  const summary = { reason, day }
  return note(tools, repository, key, {
    type: 'refusal',
    actor: { type: 'asker', id: caller },
    subjects: [`day:${day}`],
    summary,
  })
}

/** Of this process: servers without journals, and refusals that are noted already. */
const withoutJournals = new WeakSet<Journal>()
const noted = new Set<string>()
const mostNoted = 1_000

async function note(tools: AuditTools, repository: Repository, key: string, ...entries: NewEntry[]): Promise<void> {
  const { journal, root, background } = tools
  if (journal === undefined || withoutJournals.has(journal)) return
  const place = journalOf(root, repository)
  const known = `${place.id} ${key}`
  if (noted.has(known)) return
  if (noted.size >= mostNoted) noted.clear()
  noted.add(known)
  const work = append(tools, journal, place, key, entries).then((written) => void (written || noted.delete(known)))
  if (background) background(work)
  else await work
}

async function append(
  { ports }: AuditTools,
  journal: Journal,
  place: { id: string; title: string },
  key: string,
  entries: NewEntry[],
): Promise<boolean> {
  const notice = (text: string) => ports.emit({ type: 'notice', text })
  try {
    if (await journal.append(place, key, entries, AbortSignal.timeout(patienceMs))) return true
    withoutJournals.add(journal)
    notice('The drive9 server has no journal; HANDOFF_JOURNAL has no effect.')
  } catch (error) {
    const why = isHandoffError(error) ? error.message : 'an unexpected error.'
    notice(`The journal has no entry of this ${entries[0]?.type}: ${why}`)
  }
  return false
}
