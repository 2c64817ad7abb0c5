import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { isSigned } from '../../../../src/handoff/clients/github/webhook-signature.js'

const bytes = (text: string) => new TextEncoder().encode(text)
const sign = (body: Uint8Array, secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

// From GitHub's documentation, "Validating webhook deliveries": secret, body and signature.
const secret = "It's a Secret to Everybody"
const body = bytes('Hello, World!')
const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'

test("GitHub's own example is right", () => {
  expect(isSigned(body, signature, [secret])).toBe(true)
})

test('both secrets are valid during a rotation', () => {
  expect(isSigned(body, signature, ['new', secret])).toBe(true)
  expect(isSigned(body, sign(body, 'new'), ['new', secret])).toBe(true)
  expect(isSigned(body, sign(body, 'older'), ['new', secret])).toBe(false)
})

test('the signature covers the bytes, not the parsed JSON', () => {
  const spaced = bytes('{"a": "é"}')
  expect(isSigned(spaced, sign(spaced, secret), [secret])).toBe(true)
  expect(isSigned(bytes('{"a":"é"}'), sign(spaced, secret), [secret])).toBe(false)
  const raw = new Uint8Array([0xff, 0xfe, 0x00, 0x80])
  expect(isSigned(raw, sign(raw, secret), [secret])).toBe(true)
})

test.each([
  ['none', undefined],
  ['null', null],
  ['an empty one', ''],
  ['another body’s', sign(bytes('Hello, World?'), secret)],
  ['the older kind', `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`],
  ['one without its kind', signature.slice(7)],
  ['a short one', signature.slice(0, -2)],
  ['a long one', `${signature}00`],
  ['one in capitals', signature.toUpperCase()],
  ['one with a blank', `${signature} `],
  ['one of other characters', `sha256=${'z'.repeat(64)}`],
  ['two of them', `${signature}, ${signature}`],
])('a signature that is %s is refused', (_name, header) => {
  expect(isSigned(body, header, [secret])).toBe(false)
})

test('a missing secret throws', () => {
  expect(() => isSigned(body, sign(body, ''), [])).toThrow('no secret')
  expect(() => isSigned(body, sign(body, ''), [''])).toThrow('no secret')
  expect(() => isSigned(body, signature, [secret, ''])).toThrow('no secret')
})
