// What the main step leaves for the step after the job, saved the moment it is known, because the process may be killed a moment later. The last
// value of a name wins.
import type { AskTarget } from '../handoff/index.js'
import type { Runner } from './runner.js'

/** A conversation that must come to an end that people see. */
export interface OpenConversation {
  target: AskTarget
  question: string
}

export interface StateWriter {
  /** Before a sandbox is asked for: the label that any sandbox of ours will carry. */
  owner(label: string): void
  /** Empty when it is gone. */
  sandbox(id: string): void
  /** The token that opens a run directory; its id alone, which opens nothing. */
  token(id: string): void
  /** Null when it has come to its end. */
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
  if (text === '') return null
  try {
    return JSON.parse(text) as OpenConversation
  } catch {
    return null
  }
}
