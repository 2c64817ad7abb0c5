// Verifies the signature of a webhook: an HMAC of the received bytes.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { HandoffError } from '../../domain/errors.js'

const form = /^sha256=([0-9a-f]{64})$/

/**
 * True when the header was signed with one of the secrets; there are two during a rotation. Takes constant time. Throws when no secret is set:
 * unsigned webhooks are never accepted.
 */
export function isSigned(body: Uint8Array, header: string | null | undefined, secrets: string[]): boolean {
  if (secrets.length === 0 || secrets.some((secret) => secret === '')) {
    throw new HandoffError('missing-setting', 'There is no secret to check webhooks with.', {
      next: 'Set the same secret here and in the webhook settings on GitHub.',
    })
  }
  const given = form.exec(header ?? '')?.[1]
  if (given === undefined) return false
  const claimed = Buffer.from(given, 'hex')
  // All secrets are compared, so that the time does not show which one is in use.
  return secrets.map((secret) => timingSafeEqual(hash(body, secret), claimed)).includes(true)
}

const hash = (body: Uint8Array, secret: string) => createHmac('sha256', secret).update(body).digest()
