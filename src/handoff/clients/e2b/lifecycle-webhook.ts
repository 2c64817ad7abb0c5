// E2B's lifecycle webhook: the signature of a delivery, and the one event that matters here, the end of a sandbox.
import { createHash, timingSafeEqual } from 'node:crypto'
import { HandoffError } from '../../domain/errors.js'
import * as read from '../../util/decode.js'

/** The only version there is. */
const signatureVersion = 'v1'

interface Signature {
  version: string | null
  value: string | null
}

/**
 * True when the delivery was signed with one of the secrets; there are two during a rotation. Takes constant time. The signature is a hash of the
 * secret and the body, so a stranger can compute it for a longer body; the bytes that such a hash appends are not JSON.
 */
export function isSignedByE2b(body: Uint8Array, { version, value }: Signature, secrets: readonly string[]): boolean {
  if (version !== signatureVersion || value === null) return false
  const claimed = hash(value)
  // All secrets are compared, so that the time does not show which one is in use.
  return secrets.map((secret) => timingSafeEqual(hash(signatureOf(body, secret)), claimed)).includes(true)
}

const signatureOf = (body: Uint8Array, secret: string) =>
  createHash('sha256').update(secret).update(body).digest('base64url')

const hash = (text: string) => createHash('sha256').update(text).digest()

/** The end of a sandbox as E2B reports it. */
export interface SandboxEnd {
  id: string
  /** `request` by the API, `timeout`, `admin`, `orphaned`, …; absent on older clusters. */
  reason?: string
  at: string
  metadata: Record<string, string>
}

const event = read.object({
  type: read.string(100),
  timestamp: read.time,
  sandbox_id: read.pattern(/^[\w-]{1,100}$/, 'the id of a sandbox'),
  event_data: read.optional(
    read.object({
      sandbox_metadata: read.optional(read.record(read.string(2_000), 100)),
      kill_reason: read.optional(read.pattern(/^[a-z_]{1,40}$/, 'a reason')),
    }),
  ),
})

/** Undefined for an event of another type. Rejects with `invalid-input`. */
export function readSandboxEnd(body: unknown): SandboxEnd | undefined {
  try {
    const { type, timestamp: at, sandbox_id: id, event_data: data } = event(body, '')
    if (type !== 'sandbox.lifecycle.killed') return undefined
    const reason = data?.kill_reason
    return { id, at, ...(reason === undefined ? {} : { reason }), metadata: data?.sandbox_metadata ?? {} }
  } catch (error) {
    if (!(error instanceof read.DecodeError)) throw error
    throw new HandoffError('invalid-input', `The event of E2B cannot be read: ${error.message}.`, { cause: error })
  }
}
