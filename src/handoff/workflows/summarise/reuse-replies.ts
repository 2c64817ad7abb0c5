// Asks the model, and keeps each reply by what was asked: a request that an earlier run or an earlier attempt paid for is not sent again.

import { HandoffError } from '../../domain/errors.js'
import { type Note, type Notes, noteKey } from '../../domain/summary/notes.js'
import type { Messages } from '../../domain/summary/summary-prompt.js'
import { type Checkpoint, startCheckpointWriter } from './checkpoint.js'
import type { ModelQueue, QueuedRequest } from './model-queue.js'

export interface Asker {
  /** Undefined if the budget has no room for the request, or the reply has no text. */
  ask(request: QueuedRequest): Promise<Pick<Note, 'text' | 'cut'> | undefined>
  /** True if the reply is known. */
  isKnown(messages: Messages): boolean
  /** How many requests were not sent, because their replies were known. */
  reused(): number
  /** The notes on parts for the next run: the earlier ones, then those that this run used. */
  notes(): Note[]
  /** Waits until the last reply is saved. */
  finish(): Promise<void>
}

interface AskerInput {
  model: string
  queue: ModelQueue
  earlier: Notes
  checkpoint: Checkpoint | undefined
  notice: (text: string) => void
}

export async function createAsker({ model, queue, earlier, checkpoint, notice }: AskerInput): Promise<Asker> {
  const paid = await loadCheckpoint(checkpoint, notice)
  /** Replies of this run, and those of them that describe parts. */
  const replies: Notes = new Map(paid)
  const parts: Notes = new Map()
  const writer = startCheckpointWriter(checkpoint, () => replies.values(), notice)
  let reused = 0
  const find = (key: string) => replies.get(key) ?? earlier.get(key)
  return {
    async ask(request) {
      const key = noteKey(model, request.messages)
      const known = find(key)
      const note = known ?? (await send(queue, request, key))
      if (!note) return undefined
      if (known) reused++
      if (request.purpose !== 'summary') parts.set(key, note)
      if (!known) {
        replies.set(key, note)
        writer.requestSave()
      }
      return note
    },
    isKnown: (messages) => find(noteKey(model, messages)) !== undefined,
    reused: () => reused,
    notes: () => [...[...earlier.values()].filter(({ key }) => !parts.has(key)), ...parts.values()],
    finish: () => writer.finish(),
  }
}

async function send(queue: ModelQueue, request: QueuedRequest, key: string): Promise<Note | undefined> {
  const reply = await queue.ask(request)
  if (!reply || reply.text.trim() === '') return undefined
  // A reply with a problem is short for a reason of the model's: the request is not worth a second one.
  return { key, text: reply.text, ...(reply.truncated && !reply.problem ? { cut: true } : {}) }
}

/** What an earlier attempt at this commit paid for. */
async function loadCheckpoint(checkpoint: Checkpoint | undefined, notice: (text: string) => void): Promise<Notes> {
  try {
    return (await checkpoint?.load()) ?? new Map()
  } catch (error) {
    if (!(error instanceof HandoffError)) throw error
    notice(`The checkpoint of an earlier attempt could not be read: ${error.message}`)
    return new Map()
  }
}
