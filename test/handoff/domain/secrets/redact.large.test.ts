// Redaction of large and hostile texts takes little of the processor's time.
import { describe, expect, it, test } from 'vitest'
import { redactSecrets } from '../../../../src/handoff/domain/secrets/redact-file.js'
import { makeRedactor, makeStreamRedactor } from '../../../../src/handoff/domain/secrets/redactor.js'
import { processorTime } from '../../../support/processor-time.js'

const jwt = `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${'dozjgNryP4J3jVmNHl0w5N'.repeat(2)}`

describe('large texts', () => {
  const secrets = Array.from({ length: 10 }, (_, index) =>
    `drive9_${Buffer.from(`${jwt}${index}`).toString('base64')}`.slice(0, 700),
  )
  const text = 'const value = compute(first, second) // and so on, with 123 numbers\n'.repeat(3_000)

  const inPieces = (text: string, length: number) => {
    const stream = makeStreamRedactor(secrets)
    for (let at = 0; at < text.length; at += length) stream.push(text.slice(at, at + length))
    stream.end()
  }

  it('take little time', () => {
    const redact = makeRedactor(secrets)
    expect(processorTime(() => expect(redact(text)).toBe(text))).toBeLessThan(2_000)
  })

  it('take little time in small pieces, and however twisted', () => {
    const time = processorTime(() => {
      inPieces(text, 5)
      for (const twisted of ['sk-', 'eyJ', '-----BEGIN PRIVATE KEY-----', '-', 'a', 'ghp_a.', ' ', 'A']) {
        const long = twisted.repeat(Math.ceil(200_000 / twisted.length))
        makeRedactor(secrets)(long)
        inPieces(long, 50)
      }
    })
    expect(time).toBeLessThan(20_000)
  })
})

test('no text makes it slow', () => {
  const hostile = [
    '-----BEGIN PRIVATE KEY-----',
    'token',
    'token = ',
    'a:b@',
    '://',
    '://a:',
    'eyJ',
    'sk-',
    'password="',
    `${'A'.repeat(60)}\n`,
    'secret_key.',
    '_key',
    '--token',
    '--a-secret ',
  ].map((piece) => piece.repeat(Math.ceil(500_000 / piece.length)))
  for (const text of [...hostile, `-----BEGIN PRIVATE KEY-----\n${`${'aZ3k9QmW'.repeat(8)}\n`.repeat(8_000)}`]) {
    expect(
      processorTime(() => redactSecrets(text)),
      text.slice(0, 30),
    ).toBeLessThan(3_000)
  }
})
