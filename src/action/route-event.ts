// Decides what work an event asks for. Pure, and loaded first: most events need no work and must cost nothing.
import {
  type AskEvent,
  type CorrectCommand,
  commentEvents,
  type Depth,
  isBot,
  parseAskCommand,
  parseCorrectCommand,
  readAskEvent,
} from '../handoff/index.js'
import type { Context, PullPayload } from './event-context.js'
import type { Options } from './inputs.js'

export interface CommitRequest {
  sha: string
  ref?: string
  /** The ref whose earlier summary may be reused. */
  reuseFrom: { commits: string[]; refs: string[] }
  /** The pull request it is the head of. */
  pull?: number
  baseRef?: string
  /** The head of the base branch when the event happened. */
  baseSha?: string | undefined
}

export interface CommentQuestion {
  event: AskEvent
  question: string
  /** Asks for a new answer although one is stored. */
  fresh: boolean
  depth: Depth | undefined
}

export interface WrittenCorrection {
  event: AskEvent
  command: CorrectCommand
}

export type Route =
  | { kind: 'summarise'; commit: CommitRequest }
  | { kind: 'comment'; commit: CommitRequest & { pull: number } }
  | { kind: 'answer'; asked: CommentQuestion }
  | { kind: 'correct'; correction: WrittenCorrection }
  | { kind: 'ask'; commit: CommitRequest }
  /** There is no work, and that is no error. `notice` shows why on the run's page. */
  | { kind: 'nothing'; why: string; notice: boolean }
  | { kind: 'refuse'; why: string; next: string }

export function routeEvent(context: Context, options: Options): Route {
  if (options.mode === 'ask' && options.question !== '') return routeCommit(context, options, 'ask')
  if (options.mode === 'comment') return routeCommentMode(context, options)
  if (commentEvents.has(context.event) && options.mode !== 'summarise') return routeComment(context, options)
  if (options.mode === 'ask') {
    return {
      kind: 'refuse',
      why: `With mode: ask, the event ${context.event} needs a question.`,
      next: 'Add the input question, or run it on issue_comment, pull_request_review_comment or discussion_comment.',
    }
  }
  if (options.mode === 'auto' && !summarised.has(context.event)) {
    const why = `Nothing to do for the event ${context.event}. Set mode: summarise or mode: ask if something is wanted.`
    return { kind: 'nothing', why, notice: true }
  }
  return routeCommit(context, options, 'summarise')
}

const summarised = new Set([
  'push',
  'pull_request',
  'pull_request_target',
  'workflow_dispatch',
  'schedule',
  'merge_group',
])
const zeroSha = /^0+$/

function routeCommit(context: Context, options: Options, kind: 'summarise' | 'ask'): Route {
  const { pull_request: pull, deleted } = context.payload
  if (context.event === 'push' && (deleted === true || zeroSha.test(context.sha))) {
    return { kind: 'nothing', why: 'The branch was deleted; there is no commit to summarise.', notice: false }
  }
  if (pull && context.event.startsWith('pull_request')) return routePull(context, pull, options, kind)
  return { kind, commit: eventCommit(context) }
}

/** The summary of a pull request's head, kept in a comment. */
function routeCommentMode(context: Context, options: Options): Route {
  const decision = routeCommit(context, options, 'summarise')
  if (decision.kind !== 'summarise') return decision
  const { pull } = decision.commit
  if (pull !== undefined) return { kind: 'comment', commit: { ...decision.commit, pull } }
  return {
    kind: 'refuse',
    why: `With mode: comment, the event ${context.event} has no pull request to comment on.`,
    next: 'Run it on pull_request.',
  }
}

function eventCommit(context: Context): CommitRequest {
  const { before, repository } = context.payload
  const branch = text(repository?.default_branch)
  const refs = [context.ref, ...(branch === '' ? [] : [`refs/heads/${branch}`])].filter((ref) =>
    ref.startsWith('refs/heads/'),
  )
  return {
    sha: context.sha,
    ...(context.ref === '' ? {} : { ref: context.ref }),
    reuseFrom: { commits: commits(before), refs: [...new Set(refs)] },
  }
}

/** The head commit, and not the temporary merge commit that GitHub checks out for pull_request. */
function routePull(context: Context, pull: PullPayload, options: Options, kind: 'summarise' | 'ask'): Route {
  if (context.payload.action === 'closed') {
    return {
      kind: 'nothing',
      why: 'The pull request was closed; its head was summarised when it was pushed.',
      notice: false,
    }
  }
  const number = whole(pull.number ?? context.payload.number)
  const sha = text(pull.head?.sha)
  const trusted = pull.head?.repo?.id !== undefined && pull.head.repo?.id === pull.base?.repo?.id
  if (!trusted && !options.allowUntrustedHead) return untrustedFork(context.event, number)
  const base = text(pull.base?.ref)
  const ref = `refs/pull/${number}/head`
  const refs = [ref, ...(base === '' ? [] : [`refs/heads/${base}`])]
  return {
    kind,
    commit: {
      sha,
      ref,
      pull: number,
      ...(base === '' ? {} : { baseRef: `refs/heads/${base}` }),
      ...commitField(pull.base?.sha),
      reuseFrom: { commits: commits(context.payload.before), refs },
    },
  }
}

function untrustedFork(event: string, number: number): Route {
  if (event === 'pull_request_target') {
    return {
      kind: 'refuse',
      why: `Pull request ${number} comes from a fork, and its head is not summarised under pull_request_target, which has this repository's secrets.`,
      next: 'Use on: pull_request instead, or set allow-untrusted-head: true if you accept that a stranger decides what is stored and what it costs.',
    }
  }
  const why = `Pull request ${number} comes from a fork, which gets no secrets, so there is no summary of it. A maintainer can push its branch to this repository; /ask on it answers from the base branch.`
  return { kind: 'nothing', why, notice: true }
}

/** Takes the question from the event, because the comment may be edited later. */
function routeComment(context: Context, options: Options): Route {
  const event = readAskEvent(context.event, context.payload)
  if ('ignored' in event) return { kind: 'nothing', why: event.ignored, notice: false }
  if (isBot(event.asker)) {
    return { kind: 'nothing', why: 'The comment is from a bot; bots are not answered.', notice: false }
  }
  const correction = event.command === 'correct' ? parseCorrectCommand(event.body) : null
  if (correction !== null) return { kind: 'correct', correction: { event, command: correction } }
  const command = parseAskCommand(event.body)
  return {
    kind: 'answer',
    asked: {
      event,
      question: command?.question ?? event.question,
      fresh: command?.fresh ?? false,
      depth: command?.depth ?? options.depth,
    },
  }
}

const commitField = (value: unknown) => {
  const [baseSha] = commits(value)
  return { baseSha }
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')

const whole = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : 0)

const commits = (value: unknown) =>
  typeof value === 'string' && /^[0-9a-f]{40}$/.test(value) && !zeroSha.test(value) ? [value] : []
