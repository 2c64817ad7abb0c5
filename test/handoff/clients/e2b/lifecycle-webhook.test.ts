import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSignedByE2b, readSandboxEnd } from '../../../../src/handoff/clients/e2b/lifecycle-webhook.js'
import type { HandoffError } from '../../../../src/handoff/domain/errors.js'

const body = Buffer.from('{"a":1}')
const secret = 'first'
const sign = (bytes: Uint8Array, by: string) => createHash('sha256').update(by).update(bytes).digest('base64url')

describe('the signature', () => {
  test('is of the secret and the bytes, by any of the secrets', () => {
    // printf '%s' 'first{"a":1}' | openssl dgst -sha256 -binary | basenc --base64url | tr -d =
    const value = 'p0kcT6Px2vHBhqDTf9wLnJP9Mc36dYvS3MQEwt2kFz4'
    expect(sign(body, secret)).toBe(value)
    expect(isSignedByE2b(body, { version: 'v1', value }, [secret])).toBe(true)
    expect(isSignedByE2b(body, { version: 'v1', value }, ['second', secret])).toBe(true)
  })

  test.for<[string, { version: string | null; value: string | null }]>([
    ['another secret', { version: 'v1', value: sign(body, 'second') }],
    ['another body', { version: 'v1', value: sign(Buffer.from('{"a":2}'), secret) }],
    ['no signature', { version: 'v1', value: null }],
    ['an empty one', { version: 'v1', value: '' }],
    ['another version', { version: 'v2', value: sign(body, secret) }],
    ['no version', { version: null, value: sign(body, secret) }],
    ['a padded one', { version: 'v1', value: `${sign(body, secret)}=` }],
  ])('%s is refused', ([, signature]) => {
    expect(isSignedByE2b(body, signature, [secret])).toBe(false)
  })

  test('without secrets nothing is signed', () => {
    expect(isSignedByE2b(body, { version: 'v1', value: sign(body, '') }, [])).toBe(false)
  })
})

describe('the event', () => {
  const event = {
    type: 'sandbox.lifecycle.killed',
    timestamp: '2026-11-19T12:00:00.123456789Z',
    sandbox_id: 'i0abc',
    event_data: { sandbox_metadata: { role: 'ask' }, kill_reason: 'timeout', execution: { vcpu_count: 2 } },
    sandbox_team_id: 'x',
  }

  test('of an end has id, reason, time and metadata', () => {
    const metadata = { role: 'ask' }
    expect(readSandboxEnd(event)).toEqual({ id: 'i0abc', reason: 'timeout', at: event.timestamp, metadata })
    expect(readSandboxEnd({ ...event, event_data: undefined })).toEqual({
      id: 'i0abc',
      at: event.timestamp,
      metadata: {},
    })
  })

  test('of another type is none of ours', () => {
    expect(readSandboxEnd({ ...event, type: 'sandbox.lifecycle.created' })).toBeUndefined()
  })

  test('in another shape is refused with an error of ours', () => {
    const spoiled = fc.record(
      {
        type: fc.constant(event.type),
        timestamp: fc.jsonValue(),
        sandbox_id: fc.jsonValue(),
        event_data: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    const codeOf = (value: unknown) => {
      try {
        readSandboxEnd(value)
        return 'read'
      } catch (error) {
        return (error as HandoffError).code
      }
    }
    expect(codeOf({ ...event, sandbox_id: '../x' })).toBe('invalid-input')
    fc.assert(
      fc.property(fc.oneof(spoiled, fc.jsonValue()), (value) => {
        expect(['read', 'invalid-input']).toContain(codeOf(value))
      }),
    )
  })
})
