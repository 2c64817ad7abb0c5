// Questions that somebody was promised an answer to. One small file for each promise, from before it is made until it is kept, so that whoever looks
// (a poll, the cron) can take up what an instance left behind. Of one answer there may be several: to whoever waits for it, and to each pull request
// that it is to be posted on.
import type { Target } from '../domain/answers/comment-event.js'
import { isHandoffError } from '../domain/errors.js'
import type { Thread } from '../domain/github.js'
import { decodeVersioned, encode } from '../domain/handoff-record.js'
import type { Drive, DriveEntry } from '../domain/ports.js'
import { compareText } from '../util/compare-text.js'
import * as read from '../util/decode.js'
import { mapConcurrent } from '../util/map-concurrent.js'
import type { ServicePlace } from './service-paths.js'

export interface AcceptedNote {
  version: 1
  /** The answer's id; for a comment whose run is not chosen yet, a name made of the comment. */
  answer: string
  /** Absent as long as no run is chosen: then `asked` says what was asked. */
  run?: string
  /** Whoever promised it is at work until then. */
  until: number
  asked?: {
    text: string
    pull: number
    asker: string
    /** Whose right to ask is asked for, by whoever answers. */
    user: { id: number; login: string; type: string }
    thread?: string
    fresh?: boolean
  }
  repository: { host: string; owner: string; name: string; id?: string }
  caller: string
  model: string
  /** Where the answer is to be posted: below somebody's comment, or on a pull request. */
  post?: Target | { pull: number }
  /** What it stands under, where it was read; not part of what is kept. */
  readAs?: string
}

const place = { repository: read.string(300), number: read.count }
const threads = {
  issue: read.object({ kind: read.oneOf('issue'), ...place }),
  review: read.object({ kind: read.oneOf('review'), ...place, root: read.count }),
  discussion: read.object({
    kind: read.oneOf('discussion'),
    ...place,
    discussion: read.string(300),
    comment: read.string(300),
  }),
} satisfies Record<Thread['kind'], read.Decoder<Thread>>

const target = read.object({
  thread: (value, at) =>
    threads[read.object({ kind: read.oneOf('issue', 'review', 'discussion') })(value, at).kind](value, at),
  question: read.count,
  askedAt: read.optional(read.string(40)),
  branch: read.optional(read.string(300)),
})

const post: read.Decoder<Target | { pull: number }> = (value, at) =>
  typeof value === 'object' && value !== null && 'pull' in value
    ? read.object({ pull: read.count })(value, at)
    : target(value, at)

const shape = read.object({
  version: read.oneOf(1),
  answer: read.pattern(/^[0-9a-f]{32}$/, 'an answer id'),
  run: read.optional(read.string(200)),
  until: read.count,
  asked: read.optional(
    read.object({
      text: read.string(20_000),
      pull: read.count,
      asker: read.string(500),
      user: read.object({ id: read.count, login: read.string(200), type: read.string(40) }),
      thread: read.optional(read.string(500)),
      fresh: read.optional(read.boolean),
    }),
  ),
  repository: read.object({
    host: read.string(300),
    owner: read.string(1_000),
    name: read.string(100),
    id: read.optional(read.string(40)),
  }),
  caller: read.string(200),
  model: read.string(200),
  post: read.optional(post),
})

/** What a promise is called by. */
export type PromiseName = Pick<AcceptedNote, 'answer' | 'post' | 'readAs'>

/** Older versions kept one note for an answer, whatever was promised. */
const nameOf = ({ answer, post, readAs }: PromiseName) =>
  readAs ?? (post && 'pull' in post ? `${answer}-${post.pull}` : answer)
const nameForm = /^([0-9a-f]{32})(-\d{1,10})?\.json$/

export async function noteAccepted(
  drive: Drive,
  place: ServicePlace,
  note: AcceptedNote,
  signal: AbortSignal,
): Promise<void> {
  await drive.write(place.acceptedQuestion(nameOf(note)), encode(note), { signal })
}

/** A question has four thousand characters; in JSON one may be six bytes, and what was asked is cut to twice as many. */
const noteLimit = 200_000

/** One that cannot be read, for whatever reason, keeps nobody from the others. */
async function readNotes(
  drive: Drive,
  place: ServicePlace,
  entries: DriveEntry[],
  signal: AbortSignal,
): Promise<AcceptedNote[]> {
  const read = async ({ name }: DriveEntry) => {
    const bytes = await drive.read(`${place.accepted}/${name}`, { maxBytes: noteLimit, signal })
    const note = bytes && (decodeVersioned(bytes, shape, 'the note of an accepted question') as AcceptedNote)
    return note ? { ...note, readAs: name.replace('.json', '') } : undefined
  }
  const notes = await mapConcurrent(16, entries, (entry) =>
    read(entry).catch((error: unknown) => {
      if (isHandoffError(error)) return undefined
      throw error
    }),
  )
  return notes.filter((note) => note !== undefined)
}

async function listNames(drive: Drive, place: ServicePlace, signal: AbortSignal): Promise<DriveEntry[]> {
  return (await drive.list(place.accepted, signal)).filter(({ name }) => nameForm.test(name))
}

/** So many of them, the longest waiting first. */
export async function listAccepted(
  drive: Drive,
  place: ServicePlace,
  most: number,
  signal: AbortSignal,
): Promise<AcceptedNote[]> {
  const entries = await listNames(drive, place, signal)
  const oldest = entries.sort((a, b) => compareText(a.modifiedAt ?? '', b.modifiedAt ?? '')).slice(0, most)
  return readNotes(drive, place, oldest, signal)
}

/** What was promised about one answer. */
export async function acceptedAbout(
  drive: Drive,
  place: ServicePlace,
  answer: string,
  signal: AbortSignal,
): Promise<AcceptedNote[]> {
  return readNotes(drive, place, await namesAbout(drive, place, answer, signal), signal)
}

/** Whether anything was promised about it; no note is read. */
export async function isAccepted(
  drive: Drive,
  place: ServicePlace,
  answer: string,
  signal: AbortSignal,
): Promise<boolean> {
  return (await namesAbout(drive, place, answer, signal)).length > 0
}

async function namesAbout(
  drive: Drive,
  place: ServicePlace,
  answer: string,
  signal: AbortSignal,
): Promise<DriveEntry[]> {
  const entries = await listNames(drive, place, signal)
  return entries.filter(({ name }) => nameForm.exec(name)?.[1] === answer)
}

export async function forgetAccepted(
  drive: Drive,
  place: ServicePlace,
  name: PromiseName,
  signal: AbortSignal,
): Promise<void> {
  await drive.remove(place.acceptedQuestion(nameOf(name)), { recursive: false, signal })
}

/** Nobody will be answered: what was promised to anybody goes. */
export async function forgetAbout(
  drive: Drive,
  place: ServicePlace,
  answer: string,
  signal: AbortSignal,
): Promise<void> {
  const names = await namesAbout(drive, place, answer, signal)
  await mapConcurrent(8, names, ({ name }) => drive.remove(`${place.accepted}/${name}`, { recursive: false, signal }))
}
