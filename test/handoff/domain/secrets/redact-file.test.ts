// Which texts hold credentials, and what is left of them. The samples are put together at run time, so that no scanner takes this file for a leak.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactSecrets } from '../../../../src/handoff/domain/secrets/redact-file.js'

const runs = process.env['LONG'] === '1' ? 1_000 : 50
const letters = 'aZ3k9QmW2xR7tY5uP1vB8nC4dF6gH0jL'
const body = (length: number) => letters.repeat(Math.ceil(length / letters.length)).slice(0, length)
const hex = (length: number) => '4f9a02c7e1b85d36'.repeat(20).slice(0, length)
const pem = (kind: string, line = body(64)) =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${line}\n${line}\n-----END ${kind}PRIVATE KEY-----`

/** By rule: texts in which the second part is the value. */
const samples: [rule: string, before: string, value: string, after?: string][] = [
  ['aws-key', 'id = ', `AKIA${'IOSFODNN7QRSTUVW'}`],
  ['github-token', 'token: ', `ghp_${body(36)}`],
  ['github-token', '', `github_pat_${body(60)}`],
  ['gitlab-token', 'x=', `glpat-${body(20)}`],
  ['slack-token', '"', `xoxb-123456789012-${body(24)}`, '"'],
  ['slack-webhook', 'https://', `hooks.slack.com/services/T0AB12CD3/B0AB12CD3/${body(24)}`],
  ['stripe-key', "'", `sk_live_${body(24)}`, "'"],
  ['model-key', 'key ', `sk-proj-${body(48)}`],
  ['model-key', 'key ', `sk-${body(48)}`],
  ['npm-token', '//registry.example.org/:_authToken=', `npm_${body(36)}`],
  ['google-key', '', `AIza${body(35)}`],
  ['sendgrid-key', ' ', `SG.${body(22)}.${body(43)}`],
  ['twilio-key', ' ', `SK${hex(32)}`],
  ['hugging-face-token', ' ', `hf_${body(34)}`],
  ['digitalocean-token', ' ', `dop_v1_${hex(64)}`],
  ['shopify-token', ' ', `shpat_${hex(32)}`],
  ['sandbox-key', ' ', `e2b_${hex(40)}`],
  ['drive-key', ' ', `drive9_${body(80)}`],
  ['azure-key', 'AccountName=a;AccountKey=', `${body(86)}==`],
  ['web-token', 'Bearer ', `eyJ${body(20)}.eyJ${body(40)}.${body(43)}`],
  ['url-password', 'postgres://app:', 'hunter2', '@db.example.org/app'],
  ['url-password', 'redis://:', 'p4ss%21word', '@cache:6379'],
  ['assigned-secret', 'const apiKey = "', body(20), '"'],
  ['assigned-secret', 'DB_PASSWORD=', `${body(24)}`],
  ['assigned-secret', '  "client_secret": "', hex(32), '",'],
]

test.each(samples)('%s after %j', (rule, before, value, after = '') => {
  const { text, places } = redactSecrets(`first\n${before}${value}${after}\nlast`)
  expect(text).toMatch(new RegExp(`\\[redacted:${rule}:\\d+\\]`))
  expect(text).not.toContain(value)
  expect(text.startsWith(`first\n${before}`)).toBe(true)
  expect(text.endsWith(`${after}\nlast`)).toBe(true)
  expect(places).toEqual([{ line: 2, rule }])
})

test('places stand in the order of their lines, and of their rules within a line', () => {
  const [github, aws, npm] = [`ghp_${body(36)}`, `AKIA${'IOSFODNN7QRSTUVW'}`, `npm_${body(36)}`]
  const password = `DB_PASSWORD=${body(24)}`
  const { places } = redactSecrets(`\n${password}\n${npm}\n${npm} ${github} ${aws} ${aws}\n${aws}`)
  expect(places.map(({ line, rule }) => `${line} ${rule}`)).toEqual([
    '2 assigned-secret',
    '3 npm-token',
    '4 aws-key',
    '4 aws-key',
    '4 github-token',
    '4 npm-token',
    '5 aws-key',
  ])
})

test.each(['', 'RSA ', 'EC ', 'OPENSSH ', 'ENCRYPTED '])(
  'a %sprivate key keeps its lines and loses its text',
  (kind) => {
    const { text, places } = redactSecrets(`a\n${pem(kind)}\nb\n${pem(kind)}\n`)
    expect(text.split('\n').length).toBe(11)
    expect(text).not.toContain(body(20))
    expect(text).toContain(`-----BEGIN ${kind}PRIVATE KEY-----`)
    expect(places).toEqual([
      { line: 2, rule: 'private-key' },
      { line: 7, rule: 'private-key' },
    ])
  },
)

test('a key in one line of code, and one that is cut off', () => {
  expect(redactSecrets(`k = "${pem('').replaceAll('\n', '\\n')}"`).text).not.toContain(body(20))
  const cut = redactSecrets(`${pem('').split('\n').slice(0, 3).join('\n')}\n\nprose after it\n`)
  expect(cut.text).not.toContain(body(20))
  expect(cut.text).toContain('prose after it')
})

const innocent = [
  'password = os.environ["DB_PASSWORD"]',
  'token := getTokenFromRequest2(request)',
  'apiKey: process.env.API_KEY_FOR_PRODUCTION_V2',
  'secretName: my-application-secret-v1',
  'postgres://user:password@localhost and https://${USER}:${PASS}@host and ftp://<name>:<word>@x',
  'git@github.com:owner/name.git',
  'sk-loading-indicator-wrapper-component',
  'if strings.Contains(text, "-----BEGIN PRIVATE KEY-----") { return "-----END PRIVATE KEY-----" }',
  'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")',
  'sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
  'API_KEY=your-api-key-goes-here-1234',
  'accessKeyId: "exampleexample123"',
  'https://registry.npmjs.org/@scope/name/-/name-1.0.0.tgz',
]

test.each(innocent)('%s is left alone', (text) => {
  expect(redactSecrets(text)).toEqual({ text, places: [] })
})

/** Beside a telling name: what is taken for a secret, and its nearest neighbour that is not. */
const edges: [why: string, redacted: string, left: string][] = [
  ['sixteen characters', 'token: "a9Kq2LmX7RtY5uP1"', 'token: "a9Kq2LmX7RtY5uP"'],
  ['a sign in the middle counts', 'token: "a9Kq.2LmX7RtY5uP"', 'token: "a9Kq2LmX7RtY5uP="'],
  ['letters and digits change twice', 'token: "qzKvWxBnMj7RtPlGd"', 'token: "qzKvWxBnMjRtPlGd7"'],
  ['no placeholder is in it', 'token: "a9Kq2LmX7RtxxxwY5uP1"', 'token: "a9Kq2LmX7RtxxxxY5uP1"'],
  ['less than a half are words', 'token: "Tablema9k2Q7x4Z8"', 'token: "Tablemap9k2Q7x4Z"'],
  ['a word can be pronounced', 'token: "matstrkelan9k2Q7"', 'token: "matarkelano9k2Q7"'],
  ['a word has a vowel', 'token: "bcd9fgh2jkl7mnp4"', 'token: "bad9fog2jil7mup4"'],
  ['its characters vary', 'token: "a1b2c3d4a1b2c3d4"', 'token: "a1a1a1a1a1a1a1a1"'],
  ['those of no hexadecimal number vary more', 'token: "q1w2e3r4t5y6u7i8"', 'token: "q1w2e3r4q1w2e3r4"'],
  ['a number begins with its digits', 'token: "a1b2c3d4a1b2c3d4"', 'token: "a1w2q3r4a1w2q3r4"'],
  ['a password has three classes', 'password = "Abcd1efg"', 'password = "abcd1efg"'],
  ['a password has a digit', 'password = "Abcd1#fg"', 'password = "Abcd#efg"'],
  ['a password is no sample', 'password = "Simple#12"', 'password = "Sample#12"'],
  ['a password in quotes ends with one', 'password = "Ab3$efgh"', 'password = "Ab3$efgh (x"'],
  ['a password ends its line', 'password=Ab3$efgh \n', 'password=Ab3$efgh (x)\n'],
  ['the quote of the name is not that of the value', '"password": Ab3$efgh\n', '"password": Ab3$efgh"\n'],
  ['a word around that of a placeholder', 'x://app:mypassword@host', 'x://app:password@host'],
  ['a word behind that of a placeholder', 'x://app:passwordly@host', 'x://app:pwd@host'],
]

test.each(edges)('%s', (_, secret, other) => {
  expect(redactSecrets(secret).places).toHaveLength(1)
  expect(redactSecrets(other).places).toEqual([])
})

test.each([
  ['text', 'user:secret', 1],
  ['binary data in front', '\u0001user:secret', 0],
  ['binary data behind', 'user:secret\u0001', 0],
  ['no colon', 'user-secret', 0],
])('basic credentials: %s', (_, plain, count) => {
  const { places } = redactSecrets(`Basic ${Buffer.from(plain).toString('base64')} `)
  expect(places).toHaveLength(count)
})

test('what stands in its place says no more than the class of length', () => {
  const shown = (value: string) => redactSecrets(`k ${value} k`).text
  expect(shown(`ghp_${body(36)}`)).toBe(shown(`ghp_${body(40)}`))
  expect(shown(`ghp_${body(36)}`)).toBe('k [redacted:github-token:64] k')
  expect(shown(`ghp_${body(90)}`)).toBe('k [redacted:github-token:128] k')
})

test('wherever they stand, values go, lines stay, and a second time changes nothing', () => {
  const secret = fc
    .constantFrom(...samples)
    .map(([, before, value, after = '']) => ({ text: `${before}${value}${after}`, value }))
  const other = fc
    .oneof(
      fc.string(),
      fc.constantFrom('', 'const a = 1', '-----BEGIN PRIVATE KEY-----', 'token = "', '://a:b@', pem('RSA ')),
    )
    .map((text) => ({ text, value: '' }))
  fc.assert(
    fc.property(fc.array(fc.oneof(secret, other), { maxLength: 12 }), fc.constantFrom('\n', '\r\n'), (parts, end) => {
      const whole = parts.map(({ text }) => text).join(end)
      const { text, places } = redactSecrets(whole)
      expect(text.split('\n').length).toBe(whole.split('\n').length)
      const values = parts.map(({ value }) => value).filter(({ length }) => length > 8)
      expect(values.filter((value) => text.includes(value))).toEqual([])
      expect(places.every(({ line }) => line >= 1 && line <= whole.split('\n').length)).toBe(true)
      expect(redactSecrets(text)).toEqual({ text, places: [] })
    }),
    { numRuns: runs * 4 },
  )
})
