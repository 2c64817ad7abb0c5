// Client of a git host: asks over HTTP what refs point to, without git and without a clone.
//
// One request: protocol version 2 lets a client send `ls-refs` at once, for the wanted refs only. Git servers speak it since 2018.

import { abortError, HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Clock, GitHost } from '../../domain/ports.js'
import { quote } from '../../domain/run.js'
import { limited } from '../../util/abort.js'
import { connectionProblem, readBytes } from '../../util/http.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { doubled, retry, retryAfterMs } from '../../util/retry.js'
import { withoutTrailingSlashes } from '../../util/text.js'
import { systemClock } from '../system-clock.js'

export interface GitHostConfig {
  /** A token that can read. Only the clone address's own origin receives it. */
  token?: string | undefined
  /** Timeout of one request; 20 seconds when absent. */
  requestMs?: number
  /** The wait before the first retry; it doubles. 300 milliseconds when absent. */
  firstWaitMs?: number
  clock?: Clock
}

const retries = 2
const redirects = 3
const longestListing = 32_000_000

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
    using limit = limited(signal, config.requestMs ?? 20_000)
    const response = await request(new URL(`${base.href}/git-upload-pack`), limit.signal, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
        'git-protocol': 'version=2',
      },
      body: [...command, ...options.map(packet), flush].join(''),
    })
    if (!response.ok) throw new Refused(response)
    const found = readListing(await readBytes(response, longestListing), wanted)
    if (found) return found
    throw new HandoffError('git', `${displayAddress(base)} does not answer like a git host with protocol version 2.`, {
      next: 'Check the clone address; the git server must be version 2.18 or newer.',
    })
  }

  /** Follows redirects itself, so that only the clone address's own origin receives the credential. */
  async function request(first: URL, signal: AbortSignal, init: RequestInit): Promise<Response> {
    let url = first
    for (let hop = 0; hop <= redirects; hop += 1) {
      const headers = { ...init.headers, ...authorization(config.token, first, url) }
      const response = await fetch(url, { ...init, headers, redirect: 'manual', signal })
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
      const failure = explainFailure(error, base, config.token !== undefined)
      if (attempts > retries || !failure.retry) throw failure.error
      return { milliseconds: doubled(config.firstWaitMs ?? 300, attempts) }
    }
    return retry(ask, pauseAfter, { clock, signal, doing })
  }

  return { heads }
}

/** The header with the token, if this address may receive it. */
function authorization(token: string | undefined, first: URL, url: URL): Record<string, string> {
  if (token === undefined || url.origin !== first.origin) return {}
  return { authorization: `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}` }
}

function parseCloneUrl(cloneUrl: string): URL {
  const url = parseHttpUrl(cloneUrl)
  if (url) return new URL(url.origin + withoutTrailingSlashes(url.pathname))
  throw new HandoffError('invalid-input', 'The clone address is not an http(s) address without credentials.', {
    next: 'Write it like https://github.com/owner/name.git; a credential has a setting of its own.',
  })
}

// Reads the reply to `ls-refs`, a command of git's protocol version 2. An annotated tag counts as the commit it points to.

/**
 * The wanted refs and their commits. HEAD brings the branch that it points to. Undefined when the reply is not a complete listing: then the server
 * does not speak version 2.
 */
function readListing(reply: Buffer, wanted: readonly string[]): Map<string, string> | undefined {
  const found = new Map<string, string>()
  const { lines, complete } = linesIn(reply)
  for (const line of lines) {
    if (line.startsWith('ERR ')) throw serverError(line.slice(4))
    const [object = '', name = '', ...attributes] = line.split(' ')
    if (/^[0-9a-f]{40}$/.test(object)) addRef(found, wanted, object, name, attributes)
    else if (object !== 'unborn') return undefined
  }
  return complete ? found : undefined
}

function addRef(
  found: Map<string, string>,
  wanted: readonly string[],
  object: string,
  name: string,
  attributes: readonly string[],
): void {
  if (!wanted.includes(name)) return
  const attribute = (key: string) => attributes.find((one) => one.startsWith(key))?.slice(key.length)
  found.set(name, attribute('peeled:') ?? object)
  const branch = attribute('symref-target:')
  if (name === 'HEAD' && branch !== undefined) found.set(branch, object)
}

function serverError(message: string): HandoffError {
  return new HandoffError('git', `The git host says: ${quote(message)}.`, { next: 'Check the clone address.' })
}

// git's packet lines: four hexadecimal digits of length, then the content. 0000 to 0002 are markers without content.

const flush = '0000'
const delimiter = '0001'

export function packet(line: string): string {
  const length = Buffer.byteLength(line) + 4
  return length.toString(16).padStart(4, '0') + line
}

/** The lines of a reply. It is complete when a flush ends it; not where it is not in packets, or ends in the middle of one. */
function linesIn(reply: Buffer): { lines: string[]; complete: boolean } {
  const lines: string[] = []
  let complete = false
  for (let at = 0; at < reply.length; ) {
    const digits = reply.toString('latin1', at, at + 4)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 3
    if (length === 3 || at + length > reply.length) return { lines, complete: false }
    if (length > 3) lines.push(reply.toString('utf8', at + 4, at + length).replace(/\n$/, ''))
    complete ||= length === 0
    at += Math.max(4, length)
  }
  return { lines, complete }
}

// Explains a failure at a git host, and whether a retry makes sense.

interface Failure {
  error: HandoffError
  retry: boolean
}

/** The git host answered with a status that is not a success. */
class Refused extends Error {
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  constructor(response: Response) {
    super(`status ${response.status}`)
    this.status = response.status
    const wait = retryAfterMs(response.headers.get('retry-after'), Date.now())
    this.retryAfterSeconds = wait === undefined ? undefined : wait / 1_000
    response.body?.cancel().catch(() => undefined)
  }
}

function explainFailure(error: unknown, base: URL, hadCredential: boolean): Failure {
  if (isHandoffError(error)) return { error, retry: false }
  if (error instanceof Refused) return explainStatus(error, base, hadCredential)
  const reason = connectionProblem(error)
  return {
    error: new HandoffError('git', `The git host ${base.host} cannot be reached${reason ? ` (${reason})` : ''}.`, {
      next: 'Check the clone address, and try again.',
      cause: error,
    }),
    retry: true,
  }
}

function explainStatus({ status, retryAfterSeconds }: Refused, base: URL, hadCredential: boolean): Failure {
  if (status === 401 || status === 403 || status === 404) {
    const credential = hadCredential ? 'the credential cannot read it' : 'it is not public and no credential is set'
    const message = `The repository at ${displayAddress(base)} does not exist, or ${credential} (${status}).`
    const code = status === 404 || !hadCredential ? 'not-found' : 'git'
    const next = 'Check its name, and the credential that reads it.'
    return { error: new HandoffError(code, message, { next }), retry: false }
  }
  const isTransient = status === 429 || status >= 500
  const error = new HandoffError('git', `The git host ${base.host} failed (${status}).`, {
    next: isTransient ? 'Try again in a while.' : 'Check the clone address.',
    retryAfterSeconds,
  })
  return { error, retry: isTransient && (retryAfterSeconds ?? 0) <= 5 }
}

/** The clone address without what git adds to it. It never contains a credential. */
const displayAddress = (url: URL) => url.host + url.pathname.replace(/\/(git-upload-pack|info\/refs)$/, '')
