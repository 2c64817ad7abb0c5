// A cookie is opened only by the deployment that wrote it, for the origin and the use that it was written for, until it ends.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openCookie, readCookie, type Session, sealCookie, setCookie } from '../../../src/service/auth/session.js'

const origin = 'https://handoff.example.org'
const secret = 's'.repeat(40)
const inAnHour = () => Date.now() + 3_600_000
const session: Session = { user: { id: 7, login: 'wanda' }, tokens: { access: 'a-token' }, since: 1 }
const sealed = (more: Partial<Parameters<typeof sealCookie>[2]> = {}) =>
  sealCookie('session', session, { origin, secret, until: inAnHour(), ...more })

test('what was sealed is opened', async () => {
  expect(await openCookie('session', await sealed(), { origin, secret })).toEqual(session)
})

test.each<[string, () => Promise<string>]>([
  ['of another secret', () => sealed({ secret: 't'.repeat(40) })],
  ['of another origin', () => sealed({ origin: 'https://other.example.org' })],
  ['that has ended', () => sealed({ until: Date.now() - 1_000 })],
  [
    'of another use',
    () => sealCookie('signin', { state: 'x', verifier: 'y', path: '/' }, { origin, secret, until: inAnHour() }),
  ],
  ['that was cut', async () => (await sealed()).slice(0, -2)],
  ['that was changed', async () => (await sealed()).replace(/.{3}$/, 'AAA')],
])('a session %s is none', async (_, cookie) => {
  expect(await openCookie('session', await cookie(), { origin, secret })).toBeUndefined()
})

test('any text is no session, and no error', async () => {
  const part = fc.oneof(
    fc.base64String(),
    fc.string(),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
  )
  const text = fc.oneof(
    part,
    fc.array(part, { minLength: 4, maxLength: 6 }).map((parts) => parts.join('.')),
  )
  await fc.assert(
    fc.asyncProperty(text, async (cookie) => {
      expect(await openCookie('session', cookie, { origin, secret })).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})

// ── the header ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const read = (cookie: string | undefined, url = origin) =>
  readCookie('session', new Request(url, { headers: cookie === undefined ? {} : { cookie } }), new URL(url))

test.each<[string, string | undefined, string | undefined]>([
  ['among others', 'a=1; __Host-handoff-session=abc; b=2', 'abc'],
  ['alone', '__Host-handoff-session=abc', 'abc'],
  ['with a sign of its own in it', '__Host-handoff-session=a=b', 'a=b'],
  ['as long as ours can be', `__Host-handoff-session=${'x'.repeat(4_096)}`, 'x'.repeat(4_096)],
  ['longer', `__Host-handoff-session=${'x'.repeat(4_097)}`, undefined],
  ['empty', '__Host-handoff-session=', undefined],
  ['of another use', '__Host-handoff-signin=abc', undefined],
  ['without the prefix, which another host can set', 'handoff-session=abc', undefined],
  ['behind another name', 'x__Host-handoff-session=abc', undefined],
  ['absent', undefined, undefined],
])('a cookie %s', (_, header, value) => {
  expect(read(header)).toBe(value)
})

test('on this machine, without https, the name has no prefix', () => {
  expect(read('handoff-session=abc', 'http://localhost:3000')).toBe('abc')
  expect(read('__Host-handoff-session=abc', 'http://localhost:3000')).toBeUndefined()
})

test('a cookie is set for this host alone and out of the reach of scripts; an empty one is removed', () => {
  const url = new URL(origin)
  expect(setCookie('session', url, 'abc', 60)).toBe(
    '__Host-handoff-session=abc; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax',
  )
  expect(setCookie('signin', url, '', 60)).toContain('__Host-handoff-signin=; Path=/; Max-Age=0;')
})
