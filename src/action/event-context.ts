// The event that started a job and the place where it runs: `@actions/github` reads most of it, and this file adds the rest.

import { HandoffError } from '../handoff/index.js'
import { withoutTrailingSlashes } from '../handoff/util/text.js'
import type { Environment } from './runner.js'

export interface Context {
  event: string
  payload: Payload
  /** `owner/name`, and GitHub's number for it. */
  repository: string
  repositoryId: string
  sha: string
  ref: string
  actor: string
  runId: string
  runAttempt: string
  /** `https://github.com`, without a slash at its end. */
  serverUrl: string
  apiUrl: string
  /** A folder that the job's later steps can read. */
  temporary: string
}

/** The fields of an event that the Action reads. Their content is untrusted. The domain reads comments. */
export interface Payload {
  action?: unknown
  after?: unknown
  before?: unknown
  deleted?: unknown
  number?: unknown
  repository?: { private?: unknown; default_branch?: unknown }
  pull_request?: PullPayload
}

export interface PullPayload {
  number?: unknown
  head?: { sha?: unknown; ref?: unknown; repo?: { id?: unknown } | null }
  base?: { ref?: unknown; sha?: unknown; repo?: { id?: unknown } | null }
}

/** `@actions/github` reads the event when it is loaded, so it is loaded here. It provides neither repository ids nor folders. */
export async function readContext(environment: Environment): Promise<Context> {
  const context = await import('./github-context.js').then((module) => module.context, unreadableEvent)
  const get = (name: string) => environment[name] ?? ''
  return {
    event: context.eventName,
    payload: readPayload(context.payload),
    repository: `${context.repo.owner}/${context.repo.repo}`,
    repositoryId: get('GITHUB_REPOSITORY_ID'),
    sha: context.sha,
    ref: context.ref,
    actor: context.actor,
    runId: String(context.runId),
    runAttempt: String(context.runAttempt || 1),
    serverUrl: withoutTrailingSlashes(context.serverUrl || 'https://github.com'),
    apiUrl: withoutTrailingSlashes(context.apiUrl || 'https://api.github.com'),
    temporary: get('RUNNER_TEMP') || '/tmp',
  }
}

/** Replaces the package's error, which quotes the unreadable event. */
function unreadableEvent(): never {
  throw new HandoffError('invalid-input', 'The event that started this job could not be read.', {
    next: 'Run the job again.',
  })
}

/** Checks the payload, which the package does not. */
function readPayload(value: unknown): Payload {
  return typeof value === 'object' && value !== null ? (value as Payload) : {}
}

/** The page of this job's workflow run. */
export function workflowRunUrl(context: Context): string {
  return `${context.serverUrl}/${context.repository}/actions/runs/${context.runId}/attempts/${context.runAttempt}`
}
