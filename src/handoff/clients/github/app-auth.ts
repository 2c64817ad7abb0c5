// A GitHub App's credentials: a short JSON Web Token signed with the App's key buys a token for one repository, good for an hour.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Call } from '../../domain/github.js'
import { orAborted } from '../../util/abort.js'
import * as read from '../../util/decode.js'
import { send, type Wire } from './request.js'
import { decodeReply, repositoryPath } from './responses.js'

export interface AppCredentials {
  /** The App's number or its client id. */
  appId: string
  /** PEM; line ends may be written as `\n`, as environment variables often have them. */
  privateKey: string
}

/** Gives a token for a repository; `forget` drops one that GitHub no longer accepts, and says whether another can be had. */
export interface Tokens {
  tokenFor(repository: string, call: Call): Promise<string>
  forget(repository: string, token: string): boolean
}

export function staticTokens(token: string): Tokens {
  const text = token.trim()
  // Anything else would be refused by fetch, whose message repeats it.
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw new HandoffError('missing-setting', 'The GitHub token is empty or holds characters that no token has.', {
      next: 'Set the token again, on one line.',
    })
  }
  return { tokenFor: async () => text, forget: () => false }
}

const earlyMs = 5 * 60_000
const keep = 200

export function appTokens(wire: Wire, credentials: AppCredentials): Tokens {
  const key = readKey(credentials.privateKey)
  const cache = new Map<string, Bought>()
  const purchases = new Map<string, Promise<Bought>>()

  async function buy(repository: string, call: Call): Promise<Bought> {
    const jwt = await signAppJwt(credentials.appId, key, wire.clock.now())
    const fresh = await buyToken(wire, jwt, repository, call)
    cache.delete(repository)
    cache.set(repository, fresh)
    if (cache.size > keep) cache.delete(cache.keys().next().value!)
    return fresh
  }

  /** One purchase for all who want a token of a repository at the same time. It ends with the caller who began it; another then begins again. */
  async function shared(repository: string, call: Call): Promise<Bought> {
    const running = purchases.get(repository)
    if (!running) {
      const own = buy(repository, call).finally(() => purchases.delete(repository))
      purchases.set(repository, own)
      return own
    }
    try {
      return await orAborted(running, call.signal, `getting a token for ${repository}`)
    } catch (error) {
      const stopped = isHandoffError(error, 'cancelled') || isHandoffError(error, 'timeout')
      if (call.signal.aborted || !stopped) throw error
      return shared(repository, call)
    }
  }

  return {
    async tokenFor(repository, call) {
      const known = cache.get(repository)
      if (known && wire.clock.now() < known.until - earlyMs) return known.token
      return (await shared(repository, call)).token
    },
    forget(repository, token) {
      // Another caller may have replaced it already.
      if (cache.get(repository)?.token === token) cache.delete(repository)
      return true
    },
  }
}

interface Bought {
  token: string
  until: number
}

const installation = read.object({ id: read.count })
const bought = read.object({ token: read.pattern(/^[\x21-\x7e]{1,4000}$/, 'a token'), expires_at: read.string(40) })

async function buyToken(wire: Wire, jwt: string, repository: string, call: Call): Promise<Bought> {
  const path = repositoryPath(repository)
  const doing = `looking for our GitHub App in ${repository}`
  const found = await send(
    wire,
    { method: 'GET', path: `${path}/installation`, token: jwt, doing, repeatable: true, accept: [404] },
    call,
  )
  if (found.status === 404) {
    throw new HandoffError('forbidden', `Our GitHub App is not installed in ${repository}.`, {
      next: 'Install the App in the repository.',
    })
  }
  const { id } = decodeReply(found, installation, doing)
  const buying = `getting a token for ${repository}`
  const reply = await send(
    wire,
    {
      method: 'POST',
      path: `/app/installations/${id}/access_tokens`,
      token: jwt,
      doing: buying,
      repeatable: true,
      // For this repository alone, and no more than the conversation needs.
      body: {
        repositories: [repository.slice(repository.lastIndexOf('/') + 1)],
        permissions: { contents: 'read', issues: 'write', pull_requests: 'write' },
      },
    },
    call,
  )
  const { token, expires_at } = decodeReply(reply, bought, buying)
  const until = Date.parse(expires_at)
  return { token, until: Number.isFinite(until) ? until : wire.clock.now() + 2 * earlyMs }
}

/** Issued a minute ago, because clocks differ; GitHub accepts at most ten minutes of validity. */
async function signAppJwt(appId: string, key: KeyObject, nowMs: number): Promise<string> {
  const { SignJWT } = await import('jose/jwt/sign')
  const now = Math.floor(nowMs / 1_000)
  const claims = { iss: appId, iat: now - 60, exp: now + 540 }
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', typ: 'JWT' }).sign(key)
}

function readKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem.replaceAll('\\n', '\n'))
    if (key.asymmetricKeyType === 'rsa') return key
  } catch {
    // What the parser says may show a piece of the key.
  }
  throw new HandoffError('missing-setting', 'The private key of the GitHub App cannot be read.', {
    next: 'Paste the whole .pem file that GitHub gave, its first and last lines included.',
  })
}
