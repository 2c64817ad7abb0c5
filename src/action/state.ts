// What the main step leaves for the step after the job, saved the moment it is known: whoever is killed a moment later must be able to count
// on it. The last value of a name wins.
import type { AskTarget } from '../handoff/index.js'
import type { Runner } from './runner.js'

/** A conversation that must come to an end that people see. */
export interface OpenTalk {
  target: AskTarget
  question: string
}

export interface Saver {
  /** First thing of the main step: the next process of this job is the one after it. */
  begin(): void
  /** Before a sandbox is asked for: the label that any sandbox of ours will carry. */
  owner(label: string): void
  /** Empty when it is gone. */
  sandbox(id: string): void
  /** Null when it has come to its end. */
  talk(talk: OpenTalk | null): void
  answerComment(id: number): void
  /** The main step ended in order; nothing is left to be done. */
  finish(): void
}

export function makeSaver(runner: Pick<Runner, 'saveState'>): Saver {
  const { saveState } = runner
  return {
    begin: () => saveState('begun', 'true'),
    owner: (label) => saveState('owner', label),
    sandbox: (id) => saveState('sandbox', id),
    talk: (talk) => saveState('talk', talk === null ? '' : JSON.stringify(talk)),
    answerComment: (id) => saveState('answer-comment', String(id)),
    finish: () => saveState('finished', 'true'),
  }
}

export interface Left {
  begun: boolean
  finished: boolean
  owner: string
  sandbox: string
  talk: OpenTalk | null
  answerComment?: number
}

export function readLeft(runner: Pick<Runner, 'state'>): Left {
  const comment = Number(runner.state('answer-comment'))
  return {
    begun: runner.state('begun') !== '',
    finished: runner.state('finished') !== '',
    owner: runner.state('owner'),
    sandbox: runner.state('sandbox'),
    talk: readTalk(runner.state('talk')),
    ...(Number.isSafeInteger(comment) && comment > 0 ? { answerComment: comment } : {}),
  }
}

function readTalk(text: string): OpenTalk | null {
  if (text === '') return null
  try {
    return JSON.parse(text) as OpenTalk
  } catch {
    return null
  }
}
