// Reading is done at a speed at which the rules cannot be asked of every file; a coarse look decides where they are. It must not miss.
import { expect, test } from 'vitest'
import { createIdentifierScanner } from '../../../../../src/handoff/sandbox/program/survey/scan-identifiers.js'
import { surveyOf } from './survey-repository.js'

const letters = 'aZ3k9QmW2xR7tY5uP1vB8nC4dF6gH0jL'
const body = (length: number) => letters.repeat(Math.ceil(length / letters.length)).slice(0, length)
const hex = '4f9a02c7e1b85d36'.repeat(4)

const leaks: Record<string, string> = {
  'aws-key': `id = "AKIA${'IOSFODNN7QRSTUVW'}"`,
  'github-token': `token: ghp_${body(36)}`,
  'gitlab-token': `x=glpat-${body(20)}`,
  'slack-token': `"xoxb-123456789012-${body(24)}"`,
  'stripe-key': `'sk_live_${body(24)}'`,
  'model-key': `key sk-proj-${body(48)}`,
  'npm-token': `npm_${body(36)}`,
  'google-key': `AIza${body(35)}`,
  'sendgrid-key': `SG.${body(22)}.${body(43)}`,
  'twilio-key': `SK${hex.slice(0, 32)}`,
  'hugging-face-token': `hf_${body(34)}`,
  'sandbox-key': `e2b_${hex.slice(0, 40)}`,
  'drive-key': `drive9_${body(80)}`,
  'azure-key': `AccountKey=${body(86)}==`,
  'web-token': `Bearer eyJh${body(20)}.eyJ${body(40)}.${body(43)}`,
  'url-password': 'postgres://app:hunter22@db.example.org/app',
  'assigned-secret': `const apiKey = "${body(20)}"`,
  'private-key': `-----BEGIN RSA PRIVATE KEY-----\n${body(64)}\n${body(64)}\n-----END RSA PRIVATE KEY-----`,
}

test('the identifier scan finds every kind of credential, also far down in a file', () => {
  const scan = createIdentifierScanner()
  for (const [rule, leak] of Object.entries(leaks)) {
    const text = `${'const plain = words.that.say(nothing) // at https://example.org/@scope\n'.repeat(50)}${leak}\n`
    expect(scan(Buffer.from(text), false).suspicious, rule).toBe(true)
  }
})

test('the identifier scan ignores placeholders and common text', () => {
  const scan = createIdentifierScanner()
  const text =
    'import x from "@scope/name"\n// see https://example.org/a/b@1.2.3 and mail me@example.org\nconst averyLongIdentifierThatHasNoNumbers = secretTokenFactory(anotherVeryLongIdentifier)\n'
  expect(scan(Buffer.from(text), false).suspicious).toBe(false)
})

test('credentials are reported although no text is shown', async () => {
  const files = Object.fromEntries(Object.entries(leaks).map(([rule, leak]) => [`src/${rule}.py`, `# one\n${leak}\n`]))
  const result = await surveyOf(files, { textBytes: 0 })
  expect(result.survey.secrets).toEqual(
    Object.keys(leaks)
      .toSorted()
      .map((rule) => ({ path: `src/${rule}.py`, line: 2, rule })),
  )
  expect(result.table.secrets).toEqual(result.survey.secrets)
})

test('a credential that only the characters show, and not the bytes, is in no text', async () => {
  // The second byte of the letter is a space to the rules.
  const { texts } = await surveyOf({ 'src/a.py': 'url = "x://à:hunter22@db.example.org"\n' }, { textBytes: 1_000 })
  expect(texts.map(({ text }) => text)).toEqual(['url = "x://à:[redacted:url-password:8]@db.example.org"\n'])
})
