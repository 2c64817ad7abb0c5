// The one table of credentials: each row has a sample here, which both uses must find, whole and in pieces. The samples are put together at run
// time, so that no scanner takes this file for a leak.
import { expect, test } from 'vitest'
import { credentials } from '../../../../src/handoff/domain/secrets/credential-patterns.js'
import { redactSecrets } from '../../../../src/handoff/domain/secrets/redact-file.js'
import { makeRedactor, makeStreamRedactor, redacted } from '../../../../src/handoff/domain/secrets/redactor.js'

const letters = 'aZ3k9QmW2xR7tY5uP1vB8nC4dF6gH0jL'
const body = (length: number) => letters.repeat(Math.ceil(length / letters.length)).slice(0, length)
const hex = (length: number) => '4f9a02c7e1b85d36'.repeat(20).slice(0, length)
const large = (length: number) => 'Q7K2MX5RB3'.repeat(4).slice(0, length)

/** By beginning: in the order of the table, one for each row at least. */
const samples: string[] = [
  `AKIA${large(16)}`,
  `ghp_${body(36)}`,
  `ghs_123456_eyJ${body(20)}.eyJ${body(40)}.${body(43)}`,
  `github_pat_${body(60)}`,
  `glagent-${body(24)}`,
  `xoxb-123456789012-${body(24)}`,
  `xapp-1-${large(10)}-${body(30)}`,
  `hooks.slack.com/services/T0AB12CD3/B0AB12CD3/${body(24)}`,
  `sk_live_${body(24)}`,
  `whsec_${body(32)}`,
  `sk-proj-${body(48)}`,
  `npm_${body(36)}`,
  `pypi-AgEIcHlwaS5vcmc${body(60)}`,
  `AIza${body(35)}`,
  `GOCSPX-${body(28)}`,
  `ya29.${body(60)}`,
  `SG.${body(22)}.${body(43)}`,
  `SK${hex(32)}`,
  `hf_${body(34)}`,
  `dop_v1_${hex(64)}`,
  `shpat_${hex(32)}`,
  `vercel_blob_rw_${body(40)}`,
  `e2b_${hex(40)}`,
  `sk_e2b_${hex(40)}`,
  `drive9_${body(80)}`,
  `eyJ${body(20)}.eyJ${body(40)}.${body(43)}`,
]

test('every row of the table has a sample', () => {
  const without = credentials.filter(({ begins }) => !samples.some((one) => new RegExp(`^(?:${begins})`).test(one)))
  expect(without.map(({ begins }) => begins)).toEqual([])
})

test.each(samples)('%s is found in a file and in words, however these come', (sample) => {
  const text = `first\nkey "${sample}" key\nlast`
  const inFile = redactSecrets(text)
  expect(inFile.text).not.toContain(sample.slice(-12))
  expect(inFile.places).toHaveLength(1)
  expect(makeRedactor([])(text)).toBe(`first\nkey "${redacted}" key\nlast`)
  for (const length of [1, 9]) {
    const stream = makeStreamRedactor([])
    const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
      stream.push(text.slice(index * length, (index + 1) * length)),
    )
    expect(pieces.join('') + stream.end()).toBe(`first\nkey "${redacted}" key\nlast`)
  }
})
