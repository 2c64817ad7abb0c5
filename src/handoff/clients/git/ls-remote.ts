// The line to a git host: asks over http(s) what refs point to now. No git is needed, and nothing is cloned.
//
// One request in most cases: protocol version 2 lets a client ask `ls-refs` at once, for these refs only. A server that does not speak it
// is asked for the advertisement of all its refs, which versions 0 and 1 have.

import { abortError, HandoffError } from '../../domain/errors.js'
import type { Clock, GitHost } from '../../domain/ports.js'
import { anyOf } from '../../util/abort.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { systemClock } from '../system-clock.js'
import { explain, Refused, shown } from './errors.js'
import { readAdvertisement, readListing } from './parse-refs.js'
import { delimiter, flush, packet } from './pkt-line.js'

export interface GitCredentials {
  /** Any word for GitHub, which looks at the password alone. `x-access-token` when absent. */
  username?: string
  /** A token that can read. */
  password: string
  /** The only origin that may see it, such as `https://github.com`. Without it: the origin of whatever is asked for. */
  origin?: string
}

export interface GitHostConfig {
  credentials?: GitCredentials
  /** How long one request may take; 20 seconds when absent. */
  requestMs?: number
  /** The first wait before a request is repeated; it doubles. 300 milliseconds when absent. */
  firstWaitMs?: number
  clock?: Clock
}

const retries = 2
const redirects = 3

/** What a server said; undefined when it does not speak this version of the protocol. */
type Refs = Map<string, string> | undefined

export function makeGitHost(config: GitHostConfig = {}): GitHost {
  const clock = config.clock ?? systemClock

  async function heads(cloneUrl: string, refs: string[], signal: AbortSignal): Promise<Map<string, string>> {
    const base = addressOf(cloneUrl)
    const wanted = [...new Set(refs)]
    if (!wanted.every((ref) => /^(HEAD|refs\/[^\s\x00-\x1f\x7f]{1,500})$/.test(ref))) {
      throw new HandoffError('invalid-input', 'A ref is asked for that cannot exist.', {
        next: 'Give full names such as refs/heads/main, or HEAD.',
      })
    }
    if (wanted.length === 0) return new Map()
    const found =
      (await repeated(base, signal, () => askListing(base, wanted, signal))) ??
      (await repeated(base, signal, () => askAdvertisement(base, wanted, signal)))
    if (found) return found
    throw new HandoffError('git', `${shown(base)} does not answer like a git host.`, {
      next: 'Look at the clone address.',
    })
  }

  /** Protocol version 2. A server of an older one takes the command for nonsense, and says so in one of several ways. */
  async function askListing(base: URL, wanted: string[], signal: AbortSignal): Promise<Refs> {
    const arguments_ = ['peel\n', 'symrefs\n', ...wanted.map((ref) => `ref-prefix ${ref}\n`)]
    const response = await request(new URL(`${base.href}/git-upload-pack`), signal, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
        'git-protocol': 'version=2',
      },
      body: [packet('command=ls-refs\n'), packet('agent=handoff\n'), delimiter, ...arguments_.map(packet), flush].join(
        '',
      ),
    })
    return response.ok ? await readListing(response, wanted) : undefined
  }

  async function askAdvertisement(base: URL, wanted: string[], signal: AbortSignal): Promise<Refs> {
    const url = new URL(`${base.href}/info/refs?service=git-upload-pack`)
    const response = await request(url, signal, { headers: { accept: 'application/x-git-upload-pack-advertisement' } })
    if (response.ok) return await readAdvertisement(response, wanted)
    throw new Refused(response)
  }

  /** Follows redirects itself, so that the credential goes to the clone address's own origin and nowhere else. */
  async function request(first: URL, signal: AbortSignal, init: RequestInit): Promise<Response> {
    const limit = anyOf(signal, AbortSignal.timeout(config.requestMs ?? 20_000))
    let url = first
    for (let hop = 0; hop <= redirects; hop += 1) {
      const headers = { ...init.headers, ...authorization(config.credentials, first, url) }
      const response = await fetch(url, { ...init, headers, redirect: 'manual', signal: limit })
      const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
      if (location === null) return admitted(response)
      await response.body?.cancel()
      url = new URL(location, url)
      if (!/^https?:$/.test(url.protocol) || (first.protocol === 'https:' && url.protocol === 'http:')) break
    }
    throw new HandoffError('git', `${shown(first)} sends us elsewhere, and not to where we would go.`, {
      next: 'Give the address at which the repository is now.',
    })
  }

  /** Asking changes nothing, so it is repeated after a lost connection or an error of the server. */
  async function repeated(base: URL, signal: AbortSignal, ask: () => Promise<Refs>): Promise<Refs> {
    for (let attempt = 0; ; attempt += 1) {
      if (signal.aborted) throw abortError(signal, `asking ${shown(base)}`)
      try {
        return await ask()
      } catch (error) {
        if (signal.aborted) throw abortError(signal, `asking ${shown(base)}`)
        const failure = explain(error, base, config.credentials !== undefined)
        if (attempt >= retries || !failure.again) throw failure.error
        await clock.sleep((config.firstWaitMs ?? 300) * 2 ** attempt, signal)
      }
    }
  }

  return { heads }
}

/** These three mean the same on every git host: not for you, or not here. The rest is for the caller to judge. */
function admitted(response: Response): Response {
  if ([401, 403, 404, 429].includes(response.status)) throw new Refused(response)
  return response
}

/** The credential, if this address may see it. */
function authorization(credentials: GitCredentials | undefined, first: URL, url: URL): Record<string, string> {
  if (!credentials || url.origin !== first.origin) return {}
  if (credentials.origin !== undefined && credentials.origin !== url.origin) return {}
  const pair = `${credentials.username ?? 'x-access-token'}:${credentials.password}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

function addressOf(cloneUrl: string): URL {
  const url = parseHttpUrl(cloneUrl)
  if (url) return new URL(url.origin + url.pathname.replace(/\/+$/, ''))
  throw new HandoffError('invalid-input', 'The clone address is not an http(s) address without credentials.', {
    next: 'Write it like https://github.com/owner/name.git; a credential has a setting of its own.',
  })
}
