// What GitHub says of a person holds for a minute, and an outage of GitHub is not kept.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../src/emulators/github/server.js'
import type { Repository } from '../../../src/emulators/github/state.js'
import { makeGitHubSignIn } from '../../../src/handoff/clients/github/user-sign-in.js'
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
