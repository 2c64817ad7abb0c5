// A search in Sandbox B, and what the host believes of it. Each search is one round trip.

import type { AppContext } from '../../context.js'
import type { Excerpt } from '../../domain/answer.js'
import { HandoffError } from '../../domain/errors.js'
import { type PackedObject, proveCommit } from '../../domain/git-proof.js'
import { artifact } from '../../domain/run.js'
import type { FindTask, MoreRequest, Search } from '../../domain/sandbox-protocol.js'
import type { Card, ProgramRecord, Searched } from '../../domain/sandbox-protocol-decoder.js'
import { runProgram } from '../../sandbox/run-program.js'
import type { Looking, OpenRun } from './open-for-reading.js'
import type { ChosenRun } from './resolve-run.js'

export interface Shown {
  excerpts: Excerpt[]
  listings: { path: string; entries: string[] }[]
  /** What the repository says to agents. */
  notes: { path: string; text: string }[]
  searched: string[]
  /** What a model may choose from, where the ranking was unsure. */
  cards: Card[]
  /** How the question's own words were found. */
  search?: Searched
}

export const nothingShown = (): Shown => ({ excerpts: [], listings: [], notes: [], searched: [], cards: [] })

export interface Look {
  question: string
  terms: string[]
  earlier?: string[]
  /** Tokens of numbered lines that may be printed. */
  tokens: number
  /** Lines, searches and lists that are asked for by name; without any the question is searched. */
  requests: MoreRequest[]
  /** Cards are wanted where the ranking is unsure. */
  cards?: boolean
  /** Files that were chosen from the cards. */
  chosen?: string[]
}

/** One round trip: the first one also mounts the run's directory. Adds the result to `shown`. */
export async function searchSandbox(
  looking: Looking,
  open: OpenRun,
  shown: Shown,
  look: Look,
  signal: AbortSignal,
): Promise<void> {
  const { context, run } = looking
  const search = searchFor(look, shown.excerpts)
  const task = {
    ...findTask(context, run, search, look.requests),
    // The start of the index is for the first search.
    ...(open.prepared ? { addresses: open.readAhead.addresses, again: true } : open.readAhead),
  }
  open.prepared = true
  const received: Received = { objects: [], excerpts: [], notes: [], listings: [], cards: [] }
  await runProgram(open.sandbox, {
    program: context.program,
    task,
    secrets: { DRIVE9_API_KEY: open.token },
    timeoutMs: context.limits.deadlineMs,
    signal,
    onRecord: (record) => take(looking, received, record),
  })
  const found = takeProven(looking, shown, received, look.tokens)
  shown.cards = received.cards.slice(0, mostCards)
  if (received.searched) takeSearched(shown, look, received.searched)
  const files = new Set(found.map((excerpt) => excerpt.path)).size
  const [best] = found
  const first = best && { path: best.path, from: best.from, to: best.from + best.lines.length - 1 }
  context.ports.emit({ type: 'excerpts-found', count: found.length, files, ...(first ? { first } : {}) })
}

/** What the sandbox printed in one round. */
interface Received {
  objects: PackedObject[]
  excerpts: Excerpt[]
  notes: Excerpt[]
  listings: Shown['listings']
  cards: Card[]
  searched?: Searched
}

/** A notice is left out: nothing proves its words, and who asks would read them as ours. */
function take({ timer }: Looking, received: Received, record: ProgramRecord): void {
  if (record.type === 'excerpt') received.excerpts.push(record)
  else if (record.type === 'notes') received.notes.push(record)
  else if (record.type === 'object') received.objects.push(record)
  else if (record.type === 'listing') received.listings.push(record)
  else if (record.type === 'card') received.cards.push(record)
  else if (record.type === 'searched') received.searched ??= record
  else if (record.type === 'step' && record.step === 'mount') timer.note('mount', record.milliseconds)
}

const mostCards = 60
/** Notes of a team that are quoted, and characters of each. */
const mostNotes = 3
const longestNote = 4_000
/** No text that a program prints has more, on average. */
const mostBytesOfToken = 8

/** Adds what stands in the commit by git's own hashes. So a sandbox that was taken over can withhold lines, and not forge them. */
function takeProven({ context, run }: Looking, shown: Shown, received: Received, tokens: number): Excerpt[] {
  const commit = proveCommit(run.handoff.commit, received.objects)
  let room = mostBytesOfToken * tokens
  const proven = received.excerpts.filter((excerpt) => {
    room -= Buffer.byteLength(excerpt.lines.join('\n'))
    return room >= 0 && commit.holds(excerpt)
  })
  const withheld = received.excerpts.length - proven.length
  if (withheld > 0) context.ports.emit({ type: 'notice', text: `${withheld} ${unprovenNotice}` })
  shown.excerpts.push(...proven.map((excerpt) => ({ ...excerpt, lines: excerpt.lines.map(context.redact) })))
  const notes = received.notes.filter((note) => commit.holds(note)).slice(0, mostNotes)
  shown.notes.push(
    ...notes.map(({ path, lines }) => ({ path, text: context.redact(lines.join('\n')).slice(0, longestNote) })),
  )
  for (const { path, entries } of received.listings) {
    const names = commit.names(path)
    if (names)
      shown.listings.push({
        path,
        entries: entries.filter((entry) => names.has(entry) || /^… and \d+ more$/.test(entry)),
      })
  }
  return proven
}

/** Of the words that the sandbox names, those that were asked for; of what it left out, the kinds and how many files each has. */
function takeSearched(shown: Shown, look: Look, searched: Searched): void {
  const terms = look.requests.map((request) => ('terms' in request ? request.terms : ''))
  const asked = [look.question, ...look.terms, ...(look.earlier ?? []), ...terms].join(' ').toLowerCase()
  const known = (words: string[]) => words.filter((word) => asked.includes(word.toLowerCase()))
  const unsearched = searched.unsearched.flatMap((text) => {
    const [, why, names = '', more = '0'] = leftOut.exec(text) ?? []
    const count = names.split('", "').length + Number(more)
    return why === undefined ? [] : [`${why}: ${count} ${count === 1 ? 'file' : 'files'}`]
  })
  const own = { ...searched, terms: known(searched.terms), missing: known(searched.missing), unsearched }
  shown.searched = [...new Set([...shown.searched, ...own.terms])]
  shown.search ??= own
}

const leftOut = /^(a name that cannot be cited|larger than 2 MB|binary): (.*?)(?: and (\d{1,9}) more)?$/s

const unprovenNotice = 'excerpts of the sandbox do not stand in the commit; they were left out.'

/** Of the artifacts. */
const needed = [
  artifact.outline,
  artifact.summary,
  artifact.summaryRecord,
  artifact.searchTable,
  artifact.searchPages,
] as readonly string[]

function findTask(
  context: AppContext,
  { handoff, directory, pointer }: ChosenRun,
  search: Search,
  requests: MoreRequest[],
): FindTask {
  const clonePath = clonePathOf({ handoff })
  return {
    task: 'find',
    mount: {
      server: context.ports.drive.server,
      remote: directory,
      marker: { path: artifact.handoff, sha256: pointer.handoff },
    },
    artifacts: handoff.artifacts.filter(({ path }) => path === clonePath || needed.includes(path)),
    clonePath,
    repositoryName: repositoryNameIn(clonePath),
    commit: handoff.commit,
    search,
    requests,
  }
}

function clonePathOf({ handoff }: Pick<ChosenRun, 'handoff'>): string {
  const clonePath = handoff.artifacts.find((entry) => entry.path.endsWith('.git.tar'))?.path
  if (clonePath) return clonePath
  throw new HandoffError('corrupt', `Run ${handoff.run} has no clone among its artifacts.`, {
    next: 'Summarise the commit again with force.',
  })
}

/** The directory inside the tar is called as the repository was called when the run was made. */
const repositoryNameIn = (clonePath: string) => (clonePath.split('/').at(-1) ?? '').replace(/\.git\.tar$/, '')

function searchFor(
  { question, terms, earlier = [], tokens, cards, chosen }: Look,
  excerpts: readonly Excerpt[],
): Search {
  return {
    question,
    terms: terms.slice(0, 60),
    earlier: earlier.slice(0, 60),
    tokens,
    ...(cards ? { cards } : {}),
    ...(chosen ? { chosen } : {}),
    shown: excerpts.map((excerpt) => ({
      path: excerpt.path,
      from: excerpt.from,
      to: excerpt.from + excerpt.lines.length - 1,
    })),
  }
}
