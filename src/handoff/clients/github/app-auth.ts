// Tokens of a GitHub App: a JWT signed with the App's key is exchanged for a token of one repository, valid for an hour.
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Call } from '../../domain/github.js'
import { orAborted } from '../../util/abort.js'
import * as read from '../../util/decode.js'
import { sendRequest, type Transport } from './request.js'
import { decodeReply, repositoryPath } from './responses.js'

export interface AppCredentials {
  /** The App's id or its client id. */
  appId: string
  /** PEM, PKCS #1 or PKCS #8. Newlines may be written as `\n`, as often in environment variables. */
  privateKey: string
}

/** `forget` drops a token that GitHub rejects, and returns whether another can be requested. */
interface TokenSource {
  tokenFor(repository: string, call: Call): Promise<string>
  forget(repository: string, token: string): boolean
}

export function staticTokenSource(token: string): TokenSource {
  const text = token.trim()
  // fetch would reject it too, with the token in its message.
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw new HandoffError('missing-setting', 'The GitHub token is empty or contains invalid characters.', {
      next: 'Set the token again, on one line.',
    })
  }
  return { tokenFor: async () => text, forget: () => false }
}

const renewBeforeMs = 5 * 60_000
const maximumTokens = 200

export function appTokenSource(transport: Transport, credentials: AppCredentials): TokenSource {
  const key = readKey(credentials.privateKey)
  const cache = new Map<string, InstallationToken>()
  const pending = new Map<string, Promise<InstallationToken>>()

  async function create(repository: string, call: Call): Promise<InstallationToken> {
    const jwt = await signAppJwt(credentials.appId, key, transport.clock.now())
    const fresh = await createInstallationToken(transport, jwt, repository, call)
    cache.delete(repository)
    cache.set(repository, fresh)
    if (cache.size > maximumTokens) cache.delete(cache.keys().next().value!)
    return fresh
  }

  /** Concurrent callers share one request for a repository's token. When the caller that started it is cancelled, another caller starts it again. */
  async function createOnce(repository: string, call: Call): Promise<InstallationToken> {
    const running = pending.get(repository)
    if (!running) {
      const own = create(repository, call).finally(() => pending.delete(repository))
      pending.set(repository, own)
      return own
    }
    try {
      return await orAborted(running, call.signal, `getting a token for ${repository}`)
    } catch (error) {
      const stopped = isHandoffError(error, 'cancelled') || isHandoffError(error, 'timeout')
      if (call.signal.aborted || !stopped) throw error
      return createOnce(repository, call)
    }
  }

  return {
    async tokenFor(repository, call) {
      const known = cache.get(repository)
      if (known && transport.clock.now() < known.expiresAt - renewBeforeMs) return known.token
      return (await createOnce(repository, call)).token
    },
    forget(repository, token) {
      // Another caller may have replaced it.
      if (cache.get(repository)?.token === token) cache.delete(repository)
      return true
    },
  }
}

interface InstallationToken {
  token: string
  expiresAt: number
}

const installation = read.object({ id: read.count })
const tokenReply = read.object({ token: read.pattern(/^[\x21-\x7e]{1,4000}$/, 'a token'), expires_at: read.string(40) })

async function createInstallationToken(
  transport: Transport,
  jwt: string,
  repository: string,
  call: Call,
): Promise<InstallationToken> {
  const path = repositoryPath(repository)
  const doing = `looking for the GitHub App in ${repository}`
  const installationReply = await sendRequest(
    transport,
    { method: 'GET', path: `${path}/installation`, token: jwt, doing, idempotent: true, accept: [404] },
    call,
  )
  if (installationReply.status === 404) {
    throw new HandoffError('forbidden', `The GitHub App is not installed in ${repository}.`, {
      next: 'Install the App in the repository.',
    })
  }
  const { id } = decodeReply(installationReply, installation, doing)
  const creating = `getting a token for ${repository}`
  const reply = await sendRequest(
    transport,
    {
      method: 'POST',
      path: `/app/installations/${id}/access_tokens`,
      token: jwt,
      doing: creating,
      idempotent: true,
      // Restricted to this repository and to the permissions that comments need.
      body: {
        repositories: [repository.slice(repository.lastIndexOf('/') + 1)],
        permissions: { contents: 'read', issues: 'write', pull_requests: 'write' },
      },
    },
    call,
  )
  const { token, expires_at } = decodeReply(reply, tokenReply, creating)
  const expiresAt = Date.parse(expires_at)
  return { token, expiresAt: Number.isFinite(expiresAt) ? expiresAt : transport.clock.now() + 2 * renewBeforeMs }
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
    // The parser's message may contain a part of the key.
  }
  throw new HandoffError('missing-setting', 'The private key of the GitHub App cannot be read.', {
    next: 'Paste the whole .pem file from GitHub, with its first and last lines.',
  })
}
