// Where a job runs and what started it, read once from what the runner tells.
import { readFileSync } from 'node:fs'
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

/** The parts of events that we read here; whatever GitHub sends is somebody's text until it was looked at. Comments are read by the house. */
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
  base?: { ref?: unknown; repo?: { id?: unknown } | null }
}

export function readContext(environment: Environment): Context {
  const get = (name: string) => environment[name] ?? ''
  return {
    event: get('GITHUB_EVENT_NAME'),
    payload: readPayload(get('GITHUB_EVENT_PATH')),
    repository: get('GITHUB_REPOSITORY'),
    repositoryId: get('GITHUB_REPOSITORY_ID'),
    sha: get('GITHUB_SHA'),
    ref: get('GITHUB_REF'),
    actor: get('GITHUB_ACTOR'),
    runId: get('GITHUB_RUN_ID'),
    runAttempt: get('GITHUB_RUN_ATTEMPT') || '1',
    serverUrl: (get('GITHUB_SERVER_URL') || 'https://github.com').replace(/\/+$/, ''),
    apiUrl: (get('GITHUB_API_URL') || 'https://api.github.com').replace(/\/+$/, ''),
    temporary: get('RUNNER_TEMP') || '/tmp',
  }
}

function readPayload(path: string): Payload {
  if (path === '') return {}
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof value === 'object' && value !== null ? (value as Payload) : {}
  } catch {
    return {}
  }
}

/** The page of this job's workflow run. */
export function runPage(context: Context): string {
  return `${context.serverUrl}/${context.repository}/actions/runs/${context.runId}/attempts/${context.runAttempt}`
}
