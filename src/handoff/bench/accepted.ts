// Questions that somebody was promised an answer to. One small file each, from before the promise until the answer is there, so that whoever
// looks (a poll, the cron) can take up what an instance left behind.
import type { Target } from '../library/answers/ask-event.js'
import * as read from '../library/decode.js'
import { isHandoffError } from '../library/errors.js'
import { decodeVersioned, encode } from '../library/handoff.js'
import type { Drive } from '../library/tools.js'
import type { ServicePlace } from './service-place.js'

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
}

const target = read.object({
  thread: (value, at) =>
    read.object({ kind: read.oneOf('issue', 'review') })(value, at).kind === 'issue'
      ? read.object({ kind: read.oneOf('issue'), repository: read.string(300), number: read.count })(value, at)
      : read.object({
          kind: read.oneOf('review'),
          repository: read.string(300),
          number: read.count,
          root: read.count,
        })(value, at),
  question: read.count,
  askedAt: read.optional(read.string(40)),
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

export async function noteAccepted(
  drive: Drive,
  place: ServicePlace,
  note: AcceptedNote,
  signal: AbortSignal,
): Promise<void> {
  await drive.write(place.acceptedQuestion(note.answer), encode(note), { signal })
}

export async function readAccepted(
  drive: Drive,
  place: ServicePlace,
  answer: string,
  signal: AbortSignal,
): Promise<AcceptedNote | undefined> {
  const bytes = await drive.read(place.acceptedQuestion(answer), { maxBytes: noteLimit, signal })
  return bytes === null
    ? undefined
    : (decodeVersioned(bytes, shape, 'the note of an accepted question') as AcceptedNote)
}

/** A question has four thousand characters; in JSON one may be six bytes, and what was asked is cut to twice as many. */
const noteLimit = 200_000

/** All of them, the longest waiting first; one that cannot be read, for whatever reason, keeps nobody from the others. */
export async function listAccepted(
  drive: Drive,
  place: ServicePlace,
  most: number,
  signal: AbortSignal,
): Promise<AcceptedNote[]> {
  const entries = (await drive.list(place.accepted, signal)).filter((one) => /^[0-9a-f]{32}\.json$/.test(one.name))
  const oldest = entries.sort((a, b) => (a.modifiedAt ?? '').localeCompare(b.modifiedAt ?? '')).slice(0, most)
  const notes = await Promise.all(
    oldest.map((one) =>
      readAccepted(drive, place, one.name.slice(0, 32), signal).catch((error: unknown) => {
        if (isHandoffError(error)) return undefined
        throw error
      }),
    ),
  )
  return notes.filter((note) => note !== undefined)
}

export async function forgetAccepted(
  drive: Drive,
  place: ServicePlace,
  answer: string,
  signal: AbortSignal,
): Promise<void> {
  await drive.remove(place.acceptedQuestion(answer), { recursive: false, signal })
}
