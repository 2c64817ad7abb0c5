// Client of a git host: asks over HTTP what refs point to, without git and without a clone.
//
// One request: protocol version 2 lets a client send `ls-refs` at once, for the wanted refs only. Git servers speak it since 2018.

import { abortError, HandoffError } from '../../domain/errors.js'
import type { Clock, GitHost } from '../../domain/ports.js'
import { anySignal } from '../../util/abort.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { doubled, retry } from '../../util/retry.js'
import { withoutTrailingSlashes } from '../../util/trim-characters.js'
import { systemClock } from '../system-clock.js'
import { displayAddress, explainFailure, Refused } from './errors.js'
import { readListing } from './parse-refs.js'
import { delimiter, flush, packet } from './pkt-line.js'

interface GitCredentials {
  /** GitHub ignores it. `x-access-token` when absent. */
  username?: string
  /** A token that can read. */
  password: string
  /** The only origin that receives it, such as `https://github.com`. The clone address's own origin when absent. */
  origin?: string
}

export interface GitHostConfig {
  credentials?: GitCredentials
  /** Timeout of one request; 20 seconds when absent. */
  requestMs?: number
  /** The wait before the first retry; it doubles. 300 milliseconds when absent. */
  firstWaitMs?: number
  clock?: Clock
}

const retries = 2
const redirects = 3

export function makeGitHost(config: GitHostConfig = {}): GitHost {
  const clock = config.clock ?? systemClock

  async function heads(cloneUrl: string, refs: string[], signal: AbortSignal): Promise<Map<string, string>> {
    const base = parseCloneUrl(cloneUrl)
    const wanted = [...new Set(refs)]
    if (!wanted.every((ref) => /^(HEAD|refs\/[^\s\x00-\x1f\x7f]{1,500})$/.test(ref))) {
      throw new HandoffError('invalid-input', 'A ref is asked for that cannot exist.', {
        next: 'Give full names such as refs/heads/main, or HEAD.',
      })
    }
    return wanted.length === 0 ? new Map() : retried(base, signal, () => listRefs(base, wanted, signal))
  }

  async function listRefs(base: URL, wanted: string[], signal: AbortSignal): Promise<Map<string, string>> {
    const command = [packet('command=ls-refs\n'), packet('agent=handoff\n'), delimiter]
    const options = ['peel\n', 'symrefs\n', ...wanted.map((ref) => `ref-prefix ${ref}\n`)]
    const response = await request(new URL(`${base.href}/git-upload-pack`), signal, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
        'git-protocol': 'version=2',
      },
      body: [...command, ...options.map(packet), flush].join(''),
    })
    if (!response.ok) throw new Refused(response)
    const found = await readListing(response, wanted)
    if (found) return found
    throw new HandoffError('git', `${displayAddress(base)} does not answer like a git host with protocol version 2.`, {
      next: 'Check the clone address; the git server must be version 2.18 or newer.',
    })
  }

  /** Follows redirects itself, so that only the clone address's own origin receives the credential. */
  async function request(first: URL, signal: AbortSignal, init: RequestInit): Promise<Response> {
    const timeout = anySignal(signal, AbortSignal.timeout(config.requestMs ?? 20_000))
    let url = first
    for (let hop = 0; hop <= redirects; hop += 1) {
      const headers = { ...init.headers, ...authorization(config.credentials, first, url) }
      const response = await fetch(url, { ...init, headers, redirect: 'manual', signal: timeout })
      const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
      if (location === null) return response
      await response.body?.cancel()
      url = new URL(location, url)
      if (!/^https?:$/.test(url.protocol) || (first.protocol === 'https:' && url.protocol === 'http:')) break
    }
    throw new HandoffError('git', `${displayAddress(first)} redirects too often or to an address that is not safe.`, {
      next: 'Give the address at which the repository is now.',
    })
  }

  /** A listing changes nothing, so it is retried after a lost connection or an error of the server. */
  function retried<T>(base: URL, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    const doing = `asking ${displayAddress(base)}`
    const stopIfAborted = () => {
      if (signal.aborted) throw abortError(signal, doing)
    }
    stopIfAborted()
    const pauseAfter = (error: unknown, attempts: number) => {
      stopIfAborted()
      const failure = explainFailure(error, base, config.credentials !== undefined)
      if (attempts > retries || !failure.retry) throw failure.error
      return { milliseconds: doubled(config.firstWaitMs ?? 300, attempts) }
    }
    return retry(ask, pauseAfter, { clock, signal, doing })
  }

  return { heads }
}

/** The header with the credential, if this address may receive it. */
function authorization(credentials: GitCredentials | undefined, first: URL, url: URL): Record<string, string> {
  if (!credentials || url.origin !== first.origin) return {}
  if (credentials.origin !== undefined && credentials.origin !== url.origin) return {}
  const pair = `${credentials.username ?? 'x-access-token'}:${credentials.password}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function parseCloneUrl(cloneUrl: string): URL {
  const url = parseHttpUrl(cloneUrl)
  if (url) return new URL(url.origin + withoutTrailingSlashes(url.pathname))
  throw new HandoffError('invalid-input', 'The clone address is not an http(s) address without credentials.', {
    next: 'Write it like https://github.com/owner/name.git; a credential has a setting of its own.',
  })
}
