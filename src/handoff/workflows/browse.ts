// Lists and reads repositories, runs, summaries, answers and cited lines, without a sandbox.

import type { ReadContext } from '../context.js'
import type { AnswerRecord, CompletedAnswer } from '../domain/answer.js'
import { covers } from '../domain/citations/cited-lines.js'
import { showCorrections } from '../domain/corrections/render-corrections.js'
import { HandoffError, ignoreFailure, isHandoffError } from '../domain/errors.js'
import type { Handoff } from '../domain/handoff-record.js'
import type { DriveEntry } from '../domain/ports.js'
import { hostFolder, type Layout, layout, layoutAsSpelled, olderLayout, type Repository } from '../domain/run.js'
import { listAnswers } from '../store/answer-store.js'
import { listRefNames, runOf } from '../store/inventory.js'
import { olderSpellings } from '../store/mixed-case-directories.js'
import { readRef } from '../store/ref-heads.js'
import { readAnswer, readSealed } from '../store/run-store.js'
import { mapConcurrent } from '../util/map-concurrent.js'
import type { AnswerRequest } from './answer/find-answer.js'
import { stalenessAt } from './answer/find-answer.js'
import { type ChosenRun, repositoryOf } from './answer/resolve-run.js'
import type { AnswerStaleness } from './pull-request/check-answer.js'
import { correctionsOf } from './read-corrections.js'
import { readSummary } from './read-sealed-files.js'

interface Page<T> {
  items: T[]
  /** What to ask for the next page with. */
  next?: string | undefined
}

interface Wanted {
  limit: number
  cursor?: string | undefined
}

interface Choice {
  leads?: (folder: string) => boolean
  /** Judges a directory by the names of its folders and by its path. */
  isRepository?: (folders: readonly string[], path: string) => boolean | Promise<boolean>
}

/** Requests to drive9 at once, of one look. */
const width = 8

const wasSummarised = (folders: readonly string[]) => folders.includes('commits')

/** `owner/name` of every repository of a git host that was summarised, as its folder is spelled. A folder (`owner`, `owner/name`) that leads to nothing wanted is not looked into. */
export async function listRepositories(
  context: ReadContext,
  host: string,
  signal: AbortSignal,
  { leads = () => true, isRepository = wasSummarised }: Choice = {},
): Promise<string[]> {
  const top = hostFolder(context.root, host)
  const found: string[] = []
  const timer = async (path: string, depth: number): Promise<void> => {
    const entries = await context.ports.drive.list(`${top}${path}`, signal)
    const folders = entries.filter((entry) => entry.isDirectory).map(({ name }) => name)
    const inside = folders.filter((name) => !runOf(name))
    const below = inside.map((name) => `${path}/${name}`).filter((folder) => leads(folder.slice(1)))
    if (depth > 1 && (await isRepository(folders, `${top}${path}`))) found.push(path.slice(1))
    else if (depth < 11) await mapConcurrent(width, below, (folder) => timer(folder, depth + 1))
  }
  await timer('', 0)
  return found.sort()
}

/** The sealed runs of a repository, the newest first; one whose record cannot be believed is passed over. */
export async function listRuns(
  context: ReadContext,
  repository: Repository,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Page<Handoff>> {
  const { drive } = context.ports
  const entries = await pointersOf(context, repository, signal)
  const page = pageOf(entries, wanted)
  const sealed = await mapConcurrent(width, page.items, ({ id, place }) =>
    readSealed(drive, place, id, signal).catch(unlessUnbelievable),
  )
  const items = sealed.flatMap((run) => (run ? [run.handoff] : []))
  return { items, next: page.next }
}

interface Pointer extends Place {
  place: Layout
}

/** The newest first. A commit that was summarised again in the place of now is shown once. */
async function pointersOf(context: ReadContext, repository: Repository, signal: AbortSignal): Promise<Pointer[]> {
  const { drive } = context.ports
  const listed = async (place: Layout): Promise<Pointer[]> =>
    (await drive.list(place.commits, signal))
      .filter((entry) => /^[0-9a-f]{40}\.json$/.test(entry.name))
      .map((entry) => ({ id: entry.name.slice(0, 40), at: timeOf(entry), place }))
  const older = olderLayout(context.root, repository)
  const [now, before] = await Promise.all([listed(layout(context.root, repository)), older ? listed(older) : []])
  const spelled = now.length + before.length > 0 ? [] : await olderSpellings(drive, context.root, repository, signal)
  const elsewhere = await Promise.all(spelled.map((one) => listed(layoutAsSpelled(context.root, one))))
  const known = new Set(now.map(({ id }) => id))
  return [...now, ...before.filter(({ id }) => !known.has(id)), ...elsewhere.flat()].sort(newestFirst)
}

/** The branches and pull requests of a repository that were summarised. */
export async function summarisedRefs(
  { ports, root }: ReadContext,
  repository: Repository,
  signal: AbortSignal,
): Promise<string[]> {
  return (await listRefNames(ports.drive, layout(root, repository), signal)).sort()
}

/** The same for readers of Markdown: each correction behind its statement, or above the text. */
export async function summaryWithCorrections(
  context: ReadContext,
  run: ChosenRun,
  signal: AbortSignal,
): Promise<string> {
  const [summary, corrections] = await Promise.all([
    readSummary(context, run, signal),
    correctionsOf(context, run, signal),
  ])
  const ofSummary = corrections.filter(({ answer }) => answer === undefined)
  return showCorrections(summary, ofSummary, run.handoff)
}

export async function listAnswerPage(
  context: ReadContext,
  run: ChosenRun,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Page<AnswerRecord>> {
  const { drive } = context.ports
  const page = pageOf(await listAnswers(drive, run.directory, signal), wanted)
  const records = await mapConcurrent(width, page.items, ({ id }) =>
    readAnswer({ drive, directory: run.directory, id }, signal).catch(unlessUnbelievable),
  )
  const items = records.filter((record) => record !== undefined)
  return { items, next: page.next }
}

export async function getAnswer(
  context: ReadContext,
  run: ChosenRun,
  id: string,
  signal: AbortSignal,
): Promise<AnswerRecord> {
  const record = await readAnswer({ drive: context.ports.drive, directory: run.directory, id }, signal)
  if (record) return record
  throw new HandoffError('not-found', `Run ${run.handoff.run} has no answer ${id}.`, {
    next: 'Ask the question with POST /api/ask.',
  })
}

/** The staleness of an answer at the newest summarised commit of the run's ref; undefined if there is none or it is unknown. */
export async function staleSince(
  context: ReadContext,
  github: AnswerRequest['github'],
  run: ChosenRun,
  record: CompletedAnswer,
  signal: AbortSignal,
): Promise<AnswerStaleness | undefined> {
  const { ref } = run.handoff
  if (ref === undefined || !/^refs\/(heads|pull)\//.test(ref)) return undefined
  const repository = repositoryOf(run)
  const older = olderLayout(context.root, repository)
  const read = (place: Layout) => readRef(context.ports.drive, place, ref, signal).catch(ignoreFailure)
  const head = (await read(layout(context.root, repository))) ?? (older && (await read(older)))
  return stalenessAt(head, record, run, github, context, signal)
}

export interface CitedPlace {
  path: string
  from: number
  to: number
}

/** Lines of a file as an answer cites them; `answer` says which, or the newest that can be believed are looked through. */
export async function citedFile(
  context: ReadContext,
  run: ChosenRun,
  place: CitedPlace & { answer?: string },
  signal: AbortSignal,
): Promise<{ path: string; blob: string; from: number; lines: string[] }> {
  const { drive } = context.ports
  const read = (id: string) => readAnswer({ drive, directory: run.directory, id }, signal)
  const newest = async () => (await listAnswers(drive, run.directory, signal)).slice(0, 20).map(({ id }) => id)
  for (const id of place.answer === undefined ? await newest() : [place.answer]) {
    const record = await (place.answer === undefined ? read(id).catch(unlessUnbelievable) : read(id))
    const found = record?.status === 'done' ? record.cited?.find((piece) => covers(piece, place)) : undefined
    if (found) return found
  }
  throw new HandoffError('not-found', 'No answer of this run cites these lines.', {
    next: 'Follow the address of the citation to the git host, or ask about the file.',
  })
}

interface Place {
  id: string
  at: string
}

const timeOf = (entry: DriveEntry) => entry.modifiedAt ?? ''
const newestFirst = (a: Place, b: Place) => b.at.localeCompare(a.at) || a.id.localeCompare(b.id)

/** A cursor names the last item that was shown, so that pages do not slip when something new comes in front. */
function pageOf<T extends Place>(places: T[], { limit, cursor }: Wanted): Page<T> {
  const after = cursor === undefined ? undefined : readCursor(cursor)
  const rest = after === undefined ? places : places.filter((place) => newestFirst(place, after) > 0)
  const items = rest.slice(0, limit)
  const last = items.at(-1)
  return { items, ...(last && rest.length > limit ? { next: writeCursor(last) } : {}) }
}

const writeCursor = ({ id, at }: Place) => Buffer.from(`${at} ${id}`).toString('base64url')

function readCursor(cursor: string): Place {
  const text = Buffer.from(cursor, 'base64url').toString()
  const match = /^([0-9TZ:.+-]{0,40}) ([0-9a-f]{32,40})$/.exec(text)
  if (match) return { at: match[1]!, id: match[2]! }
  throw new HandoffError('invalid-input', 'The cursor is not one that was given out.', {
    next: 'Begin again without a cursor.',
  })
}

function unlessUnbelievable(error: unknown): undefined {
  if (isHandoffError(error, 'corrupt') || isHandoffError(error, 'unknown-version')) return undefined
  throw error
}
