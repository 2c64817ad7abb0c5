// What GitHub says of a person holds for a minute, and an outage of GitHub is not kept.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../src/emulators/github/server.js'
import type { Repository } from '../../../src/emulators/github/state.js'
import { makeGitHubSignIn } from '../../../src/handoff/clients/github/user-sign-in.js'
import { HandoffError } from '../../../src/handoff/domain/errors.js'
import { makeRepositoryAccess } from '../../../src/service/auth/repository-access.js'

let github: LocalGitHub
let repository: Repository
let token: string
let now = 0
const callback = 'https://handoff.example/api/auth/callback'
const never = new AbortController().signal

beforeAll(async () => {
  github = await startGitHub()
  github.userFlow.callbacks.push(callback)
  github.userFlow.person = github.addUser('mona')
  repository = github.addRepository({ name: 'octo/tools', private: true, app: true })
})

afterAll(() => github?.close())

beforeEach(async () => {
  github.server.clearRules()
  repository.collaborators.set('mona', 'read')
  const authorize = client().authorizeUrl({ redirect: callback, state: 's', verifier: 'v'.repeat(43) })
  const granted = await fetch(authorize, { redirect: 'manual' })
  const code = new URL(granted.headers.get('location') ?? '').searchParams.get('code') ?? ''
  const tokens = await client().exchange({ code, redirect: callback, verifier: 'v'.repeat(43) }, { signal: never })
  token = tokens.access
})

function client() {
  const { clientId, clientSecret } = github.userFlow
  return makeGitHubSignIn({ serverUrl: github.url, apiUrl: github.apiUrl, clientId, clientSecret })
}

const access = () => makeRepositoryAccess(client(), () => now)
const reads = () => github.server.requests.filter(({ path }) => path === '/repos/octo/tools').length
const status = (error: { problem?: { status: number }; code?: string }) => error.problem?.status ?? error.code

test('GitHub is asked once a minute, for all requests at the same time', async () => {
  const { idOf } = access()
  const before = reads()
  const ids = await Promise.all(['octo/tools', 'Octo/Tools', 'octo/tools'].map((name) => idOf(token, name, never)))
  expect(ids).toEqual(Array(3).fill(String(repository.id)))
  now += 59_000
  await idOf(token, 'octo/tools', never)
  expect(reads() - before).toBe(1)
  now += 2_000
  await idOf(token, 'octo/tools', never)
  expect(reads() - before).toBe(2)
})

test('a person who lost access a minute ago is refused', async () => {
  const { idOf } = access()
  await idOf(token, 'octo/tools', never)
  repository.collaborators.delete('mona')
  now += 60_001
  expect(await idOf(token, 'octo/tools', never).catch(status)).toBe(403)
})

test('a person who was given access is let in after seconds', async () => {
  const { idOf } = access()
  repository.collaborators.delete('mona')
  expect(await idOf(token, 'octo/tools', never).catch(status)).toBe(403)
  repository.collaborators.set('mona', 'read')
  now += 10_001
  expect(await idOf(token, 'octo/tools', never)).toBe(String(repository.id))
})

test('a caller that leaves ends the request for no other caller', async () => {
  const { idOf } = access()
  github.server.rule({ path: /^\/repos\//, fault: { kind: 'delay', milliseconds: 100 } })
  const leaving = new AbortController()
  const [left, stayed] = [idOf(token, 'octo/tools', leaving.signal), idOf(token, 'octo/tools', never)]
  leaving.abort()
  expect(await left.catch(status)).toBe('cancelled')
  expect(await stayed).toBe(String(repository.id))
})

test('a failure of GitHub is not kept', async () => {
  const { idOf } = access()
  github.server.rule({ path: /^\/repos\//, fault: { kind: 'answer', status: 403, headers: { 'retry-after': '3' } } })
  expect(await idOf(token, 'octo/tools', never).catch(status)).toBe('git')
  github.server.clearRules()
  expect(await idOf(token, 'octo/tools', never)).toBe(String(repository.id))
})

test('a name that GitHub redirects is another repository', async () => {
  const { idOf } = access()
  const body = {
    id: 5,
    full_name: 'octo/renamed',
    default_branch: 'main',
    private: true,
    owner: { login: 'octo', id: 1 },
  }
  github.server.rule({ path: /^\/repos\//, fault: { kind: 'answer', status: 200, body: JSON.stringify(body) } })
  expect(await idOf(token, 'octo/tools', never).catch(status)).toBe(403)
})

test('a token that was revoked ends the session', async () => {
  const { idOf, ownerOf } = access()
  expect(await ownerOf(token, never)).toMatchObject({ login: 'mona' })
  await client().revoke(token, { signal: never })
  expect(await access().ownerOf(token, never).catch(status)).toBe(401)
  expect(await idOf(token, 'octo/tools', never).catch(status)).toBe(401)
  expect(github.unexpected).toEqual([])
})

// ── what is kept ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** GitHub's replies in this process, and what it was asked. */
function scripted(reply: (name: string) => Promise<number>) {
  const asked: { name: string; patient: boolean | undefined }[] = []
  const github = {
    async repository(_: string, name: string, { patient }: { patient?: boolean }) {
      asked.push({ name, patient })
      return { id: await reply(name), fullName: name }
    },
    async ownerOf(_: string, { patient }: { patient?: boolean }) {
      asked.push({ name: 'owner', patient })
      return { id: 1, login: 'mona' }
    },
  } as unknown as Parameters<typeof makeRepositoryAccess>[0]
  const time = { now: 0 }
  const { idOf, ownerOf } = makeRepositoryAccess(github, () => time.now)
  return { asked, time, idOf: (name: string) => idOf('a-token', name, never), ownerOf: () => ownerOf('a-token', never) }
}

test('a reply is kept for a minute less a moment, and nothing is asked twice while a caller waits', async () => {
  const at = scripted(async () => 7)
  await at.idOf('octo/a')
  await at.ownerOf()
  at.time.now += 59_999
  await at.idOf('octo/a')
  expect(at.asked).toEqual([
    { name: 'octo/a', patient: false },
    { name: 'owner', patient: false },
  ])
  at.time.now += 1
  await at.idOf('octo/a')
  expect(at.asked).toHaveLength(3)
})

test('a refusal is kept for ten seconds, with its reason', async () => {
  const at = scripted(async () => {
    throw new HandoffError('forbidden', 'The App is suspended there.', { next: 'x' })
  })
  for (let more = 0; more < 2; more += 1)
    await expect(at.idOf('octo/a')).rejects.toMatchObject({
      problem: { status: 403, detail: 'The App is suspended there.' },
    })
  expect(at.asked).toHaveLength(1)
  at.time.now += 10_000
  await expect(at.idOf('octo/a')).rejects.toThrow()
  expect(at.asked).toHaveLength(2)
})

test('a failure that comes late does not remove the newer reply', async () => {
  const first = Promise.withResolvers<number>()
  const replies = [first.promise, Promise.resolve(8)]
  const at = scripted(() => replies.shift() ?? Promise.resolve(9))
  const late = at.idOf('octo/a')
  at.time.now += 60_000
  expect(await at.idOf('octo/a')).toBe('8')
  first.reject(new HandoffError('git', 'GitHub is down.', { next: 'x' }))
  await expect(late).rejects.toThrow('GitHub is down.')
  expect(await at.idOf('octo/a')).toBe('8')
})

test('five thousand replies are kept; the one that was asked for longest ago goes first', async () => {
  const at = scripted(async () => 7)
  const names = Array.from({ length: 5_000 }, (_, index) => `octo/r${index}`)
  for (const name of names) await at.idOf(name)
  await at.idOf(names[0]!)
  expect(at.asked).toHaveLength(5_000)
  at.time.now += 60_000
  await at.idOf(names[0]!)
  await at.idOf('octo/new')
  await at.idOf(names[0]!)
  expect(at.asked).toHaveLength(5_002)
  for (const name of [...names.slice(2), 'octo/newer']) await at.idOf(name)
  expect(at.asked).toHaveLength(10_001)
  await at.idOf(names[0]!)
  expect(at.asked).toHaveLength(10_002)
})
