// `npm run token` makes what the service takes: the token it prints is let in by the setting that it prints.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { authenticate } from '../../src/service/auth/authenticate.js'
import { readServiceSettings } from '../../src/service/settings.js'
import { runProgram } from '../support/run-program.js'

const make = (words: string[], environment: Record<string, string> = {}) =>
  runProgram('src/cli/token.ts', words, environment)
const settingOf = (stderr: string) => /^HANDOFF_BEARERS=(.*)$/m.exec(stderr)?.[1] ?? ''

test('the token is let in by the setting that is printed with it, beside those that were there', async () => {
  const before = `team-b=${'a'.repeat(64)}=*`
  const { code, stdout, stderr } = await make(['team-a', 'Acme/*', 'other/name'], { HANDOFF_BEARERS: before })
  expect(code).toBe(0)
  const token = stdout.trim()
  expect(token).toMatch(/^handoff_[\w-]{43}$/)
  expect(stderr).not.toContain(token)
  const setting = settingOf(stderr)
  const sha256 = createHash('sha256').update(token).digest('hex')
  expect(setting).toBe(`${before};team-a=${sha256}=Acme/*,other/name`)
  const settings = readServiceSettings({ HANDOFF_BEARERS: setting })
  expect(settings.wrong).not.toHaveProperty('HANDOFF_BEARERS')
  const request = new Request('https://handoff.example/api/ask', { headers: { authorization: `Bearer ${token}` } })
  const caller = await authenticate(request, {
    settings,
    verifier: () => Promise.reject(new Error('no job asks')),
    signIn: () => Promise.reject(new Error('no person asks')),
  })
  expect(caller).toMatchObject({ name: 'bearer:team-a', repositories: [{ name: 'acme/*' }, { name: 'other/name' }] })
})

test('two tokens are never the same', async () => {
  const [first, second] = await Promise.all([make(['a', '*']), make(['a', '*'])])
  expect(first.stdout).not.toBe(second.stdout)
})

test.each([
  ['a name that the setting could not hold', ['team a', '*'], 'cannot name a caller'],
  ['a file name, as a shell makes of a bare pattern', ['team-a', 'README.md'], 'In a shell, write patterns in quotes'],
  ['nothing to ask about', ['team-a'], 'npm run token needs'],
])('%s is refused', async (_, words, message) => {
  const { code, stdout, stderr } = await make(words)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain(message)
})

test('a caller that is there already is not shadowed', async () => {
  const { code, stderr } = await make(['team-a', '*'], { HANDOFF_BEARERS: `team-a=${'a'.repeat(64)}=*` })
  expect(code).toBe(1)
  expect(stderr).toContain('has a caller named team-a already')
})
