// Whether an answer was useful, said by its readers: `analysis/qa/<answer-id>.feedback.json`, one entry a caller.
import { HandoffError } from '../domain/errors.js'
import { decodeVersioned, encode } from '../domain/handoff-record.js'
import type { Clock } from '../domain/ports.js'
import { artifact } from '../domain/run.js'
import * as read from '../util/decode.js'
import { optimisticFile } from './optimistic-file.js'
import type { RecordPlace } from './run-store.js'

export interface FeedbackCounts {
  useful: number
  notUseful: number
}

/** With the reader's own word, if there is one. */
export interface Feedback extends FeedbackCounts {
  own?: boolean | undefined
}

/** More callers than this have no say on one answer. */
const mostCallers = 1_000
const maximumBytes = 1_000_000

/** One caller's word. The caller is a digest, as in the names of budgets. */
const entry = read.object({ caller: read.string(64), useful: read.boolean, at: read.string(40) })

const shape = read.object({
  version: read.oneOf(1),
  said: read.array(entry, mostCallers),
  revision: read.optional(read.count),
})

type State = read.Decoded<typeof shape>

const decode = (bytes: Uint8Array): State => decodeVersioned(bytes, shape, 'the feedback on an answer')

const pathOf = ({ directory, id }: RecordPlace) => `${directory}/${artifact.feedback(id)}`

/** Undefined when no caller has judged the answer. */
export async function readFeedback(
  place: RecordPlace,
  caller: string,
  signal: AbortSignal,
): Promise<Feedback | undefined> {
  const bytes = await place.drive.read(pathOf(place), { maxBytes: maximumBytes, signal })
  if (bytes === null) return undefined
  const { said } = decode(bytes)
  const useful = said.filter((one) => one.useful).length
  const own = said.find((one) => one.caller === caller)?.useful
  return { useful, notUseful: said.length - useful, own }
}

/** A caller's newer word replaces its older one. Resolves when the word was read back. */
export async function keepFeedback(
  place: RecordPlace,
  { caller, useful }: Pick<read.Decoded<typeof entry>, 'caller' | 'useful'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<FeedbackCounts> {
  const file = optimisticFile<State>({
    drive: place.drive,
    path: pathOf(place),
    clock,
    decode,
    encode,
    empty: () => ({ version: 1, said: [] }),
    contentionError: () =>
      new HandoffError('in-progress', 'Many readers judge this answer at the same time.', {
        next: 'Try again in a moment.',
        retryAfterSeconds: 2,
      }),
  })
  await file.update((state, now) => {
    const known = state.said.find((one) => one.caller === caller)
    if (known?.useful === useful) return
    if (known === undefined && state.said.length >= mostCallers)
      throw new HandoffError('conflict', `${mostCallers} callers have judged this answer; no more are kept.`)
    const others = state.said.filter((one) => one !== known)
    state.said = [...others, { caller, useful, at: new Date(now).toISOString() }]
  })
  const kept = await readFeedback(place, caller, signal)
  if (kept?.own !== useful)
    throw new HandoffError('drive', 'The feedback was written and is not there when it is read again.', {
      next: 'Send it again.',
    })
  return { useful: kept.useful, notUseful: kept.notUseful }
}
