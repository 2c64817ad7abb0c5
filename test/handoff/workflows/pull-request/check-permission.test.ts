// Who may ask: by GitHub's permissions, never by what a comment says of its author.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import { makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import type { AskLevel } from '../../../../src/handoff/domain/github.js'
import { checkPermission } from '../../../../src/handoff/workflows/pull-request/check-permission.js'

let local: LocalGitHub
let token: string
const call = { signal: AbortSignal.timeout(300_000) }

beforeAll(async () => {
  local = await startGitHub()
  local.addRepository({
    name: 'octo/open',
    collaborators: {
      ada: 'admin',
      mona: 'maintain',
      wanda: 'write',
      tria: 'triage',
      remy: 'read',
      cuno: { name: 'answerer', base: 'triage' },
    },
  })
  local.addRepository({ name: 'octo/closed', private: true, collaborators: { wanda: 'write' } })
  local.addUser('passer-by')
  token = local.issueToken({ permissions: {} })
})
afterAll(async () => {
  expect(local.unexpected).toEqual([])
  await local.close()
})

const makeClient = () =>
  makeGitHub({ apiUrl: local.apiUrl, serverUrl: local.url, credentials: { token }, userAgent: 'test' })

async function allowed(login: string, allow: AskLevel, repository = 'octo/open') {
  const { id, type } = local.addUser(login)
  return checkPermission({ github: makeClient(), repository, user: { login, id, type }, allow }, call)
}

const levels: AskLevel[] = ['read', 'triage', 'write', 'maintain', 'admin']

test.each([
  ['octo', 5],
  ['ada', 5],
  ['mona', 4],
  ['wanda', 3],
  ['tria', 2],
  ['cuno', 2],
  ['remy', 1],
  ['passer-by', 1],
])('%s has the first %i of the five levels', async (login, count) => {
  const answers = await Promise.all(levels.map(async (level) => (await allowed(login, level)).allowed))
  expect(answers).toEqual(levels.map((_, index) => index < count))
})

test('in a private repository a stranger has none, and learns it', async () => {
  expect(await allowed('passer-by', 'read', 'octo/closed')).toEqual({
    allowed: false,
    reason: 'permission',
    text: 'passer-by has no permission in octo/closed; this takes read.',
  })
  expect(await allowed('remy', 'write')).toMatchObject({
    text: 'remy has the permission read in octo/open; this takes write.',
  })
})

test.each([
  { login: 'renovate[bot]', type: 'Bot' },
  { login: 'wanda', type: 'Bot' },
  { login: 'sly[bot]', type: 'User' },
  { login: 'SLY[BOT]', type: 'User' },
  { login: 'octo', type: 'Organization' },
])('$login of type $type is a bot and not even looked up', async ({ login, type }) => {
  const before = local.server.requests.length
  const answer = await checkPermission(
    { github: makeClient(), repository: 'octo/open', user: { login, id: 1, type }, allow: 'read' },
    call,
  )
  expect(answer).toMatchObject({ allowed: false, reason: 'bot' })
  expect(local.server.requests.length).toBe(before)
})

test('an account that took over a name does not get its permissions', async () => {
  const answer = await checkPermission(
    { github: makeClient(), repository: 'octo/open', user: { login: 'wanda', id: 7, type: 'User' }, allow: 'write' },
    call,
  )
  expect(answer).toMatchObject({ allowed: false, reason: 'other-account' })
})

test('a name that is a path asks for nothing', async () => {
  const before = local.server.requests.length
  const user = { login: '../../../user', id: 1, type: 'User' }
  const answer = await checkPermission({ github: makeClient(), repository: 'octo/open', user, allow: 'read' }, call)
  expect(answer).toMatchObject({ allowed: false, reason: 'permission' })
  expect(local.server.requests.length).toBe(before)
})
