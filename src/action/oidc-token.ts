// Requests the OIDC token that proves the job's repository. Most workflows lack the permission for it, so the error gives the lines to add.
//
// `getIDToken` of `@actions/core` is not used: its error names only a variable, it cannot be cancelled, and it adds an HTTP client of 400 KB.
import { abortError, HandoffError } from '../handoff/index.js'
import type { Job } from './job-context.js'
import type { Environment } from './runner.js'

const missing = new HandoffError(
  'missing-setting',
  'The job may not ask GitHub for an identity token, which the endpoint needs.',
  {
    next: 'Add these lines to the job: permissions: { id-token: write, contents: read, pull-requests: write }. Runs for pull requests from forks never get it.',
  },
)

/** Returns a new token on each call, because tokens expire within minutes. */
export function makeOidcTokens(
  job: Pick<Job, 'runner' | 'environment'>,
  audience: string,
): (signal: AbortSignal) => Promise<string> {
  return async (signal) => {
    const { url, secret } = requestUrl(job.environment)
    const token = await request(`${url}&audience=${encodeURIComponent(audience)}`, secret, signal)
    job.runner.mask(token)
    return token
  }
}

function requestUrl(environment: Environment): { url: string; secret: string } {
  const url = environment['ACTIONS_ID_TOKEN_REQUEST_URL']
  const secret = environment['ACTIONS_ID_TOKEN_REQUEST_TOKEN']
  if (!url || !secret) throw missing
  return { url, secret }
}

async function request(url: string, secret: string, signal: AbortSignal): Promise<string> {
  try {
    const headers = { authorization: `Bearer ${secret}`, accept: 'application/json', 'user-agent': 'handoff-action' }
    const response = await fetch(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(20_000)]) })
    const { value } = (await response.json()) as { value?: unknown }
    if (typeof value === 'string' && value !== '') return value
  } catch {
    if (signal.aborted) throw abortError(signal, 'asking GitHub for an identity token')
  }
  throw new HandoffError('git', "GitHub did not give the job's identity token.", { next: 'Run the job again.' })
}
