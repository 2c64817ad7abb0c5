// The state that the main step saves for the post step. Each value is saved at once, because the process may be killed at any time. The last value
// of a name wins.

import type { AskTarget } from '../handoff/index.js'
import { parseJson } from '../handoff/util/decode.js'
import type { Runner } from './runner.js'

/** A conversation whose comment must not stay unfinished. */
interface OpenConversation {
  target: AskTarget
  question: string
}

export interface StateWriter {
  /** Saves the label of the step's sandboxes. Called before the first create call. */
  owner(label: string): void
  /** Empty when it is gone. */
  sandbox(id: string): void
  /** The token that opens a run directory; its id alone, which opens nothing. */
  token(id: string): void
  /** Null when the conversation has ended. */
  talk(talk: OpenConversation | null): void
  answerComment(id: number): void
  /** The main step ended in order; nothing is left to be done. */
  finish(): void
}

export function makeStateWriter(runner: Pick<Runner, 'saveState'>): StateWriter {
  const { saveState } = runner
  return {
    owner: (label) => saveState('owner', label),
    sandbox: (id) => saveState('sandbox', id),
    token: (id) => saveState('token', id),
    talk: (talk) => saveState('talk', talk === null ? '' : JSON.stringify(talk)),
    answerComment: (id) => saveState('answer-comment', String(id)),
    finish: () => saveState('finished', 'true'),
  }
}

export interface SavedState {
  finished: boolean
  owner: string
  sandbox: string
  token: string
  talk: OpenConversation | null
  answerComment?: number
}

export function readSavedState(runner: Pick<Runner, 'state'>): SavedState {
  const comment = Number(runner.state('answer-comment'))
  return {
    finished: runner.state('finished') !== '',
    owner: runner.state('owner'),
    sandbox: runner.state('sandbox'),
    token: runner.state('token'),
    talk: readConversation(runner.state('talk')),
    ...(Number.isSafeInteger(comment) && comment > 0 ? { answerComment: comment } : {}),
  }
}

function readConversation(text: string): OpenConversation | null {
  return (parseJson(text) ?? null) as OpenConversation | null
}
