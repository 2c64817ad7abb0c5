// The local GitHub must be no kinder than the real one: what it refuses, hides, limits and remembers.
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startServer } from '../../../src/emulators/faulty-server.js'
import { fillRequiredProperties } from '../../../src/emulators/github/fill-reply.js'
import { signToken } from '../../../src/emulators/github/oidc.js'
import { loadDescription } from '../../../src/emulators/github/openapi-description.js'
import { type LocalGitHub, startGitHub } from '../../../src/emulators/github/server.js'
import type { Pull, Repository, Token } from '../../../src/emulators/github/state.js'
import { gitFolder } from '../../support/git-folder.js'

let github: LocalGitHub
let repository: Repository
let pull: Pull

beforeEach(async () => {
  github = await startGitHub()
  repository = github.addRepository({
    name: 'octo/tools',
    collaborators: {
      wanda: 'write',
      mona: 'maintain',
      tria: 'triage',
      remy: 'read',
      cuno: { name: 'answerer', base: 'write' },
    },
    branches: { main: 'a'.repeat(40), 'feature/deep': 'b'.repeat(40) },
    app: true,
  })
  pull = github.addPull(repository, { author: 'wanda', head: { ref: 'feature/deep', sha: 'b'.repeat(40) } })
})

afterEach(async () => {
  await github.close()
})

interface Answer {
  status: number
  headers: Headers
  /** Whatever came; looked into as it is. */
  body: ReturnType<typeof JSON.parse>
}

async function call(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(path.startsWith('http') ? path : `${github.apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'user-agent': 'test', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status === 500) throw new Error(text)
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

const jobToken = (permissions: Token['permissions'] = { contents: 'read', issues: 'write', pull_requests: 'write' }) =>
  github.issueToken({ permissions })

describe('facts', () => {
  test('a repository, its branches with slashes, its pull requests', async () => {
    const token = jobToken()
    const facts = await call(token, 'GET', '/repos/Octo/TOOLS')
    expect(facts.body).toMatchObject({
      id: repository.id,
      full_name: 'octo/tools',
      default_branch: 'main',
      private: false,
    })
    expect((await call(token, 'GET', '/repos/octo/tools/git/ref/heads/feature/deep')).body.object.sha).toBe(
      'b'.repeat(40),
    )
    expect((await call(token, 'GET', '/repos/octo/tools/git/ref/heads/gone')).status).toBe(404)
    const shown = await call(token, 'GET', `/repos/octo/tools/pulls/${pull.number}`)
    expect(shown.body).toMatchObject({ head: { sha: 'b'.repeat(40), repo: { fork: false } }, base: { ref: 'main' } })
  })

  test('a fork, and a fork that is gone', async () => {
    const fork = github.addRepository({ name: 'stranger/tools' })
    const theirs = github.addPull(repository, { head: { ref: 'x', sha: 'c'.repeat(40), repository: fork } })
    const gone = github.addPull(repository, { head: { ref: 'x', sha: 'c'.repeat(40), repository: null } })
    const shown = await call(jobToken(), 'GET', `/repos/octo/tools/pulls/${theirs.number}`)
    expect(shown.body.head.repo).toMatchObject({ id: fork.id, full_name: 'stranger/tools', fork: true })
    expect((await call(jobToken(), 'GET', `/repos/octo/tools/pulls/${gone.number}`)).body.head.repo).toBeNull()
  })

  test.each([
    ['octo', 'admin', 'admin'],
    ['mona', 'write', 'maintain'],
    ['wanda', 'write', 'write'],
    ['tria', 'read', 'triage'],
    ['remy', 'read', 'read'],
    ['cuno', 'write', 'answerer'],
    ['passer-by', 'read', 'read'],
  ])('%s has the permission %s in the role %s', async (login, permission, role) => {
    github.addUser('passer-by')
    const { body } = await call(jobToken(), 'GET', `/repos/octo/tools/collaborators/${login}/permission`)
    expect(body).toMatchObject({ permission, role_name: role, user: { login } })
  })

  test('a user without access to a private repository has no permission, and an unknown user is not found', async () => {
    github.addRepository({ name: 'octo/secret', private: true })
    github.addUser('passer-by')
    const shown = await call(jobToken(), 'GET', '/repos/octo/secret/collaborators/passer-by/permission')
    expect(shown.body).toMatchObject({ permission: 'none', role_name: 'none' })
    expect((await call(jobToken(), 'GET', '/repos/octo/tools/collaborators/no-such-user/permission')).status).toBe(404)
  })

  test('comparisons are read from a real git directory', async () => {
    using folder = gitFolder()
    const first = folder.commit({ 'a.txt': '1\n2\n3\n', 'old.txt': 'x\ny\nz\nw\n', 'gone.txt': 'g\n' })
    const second = folder.commit({
      'a.txt': '1\ntwo\n3\n',
      'old.txt': null,
      'new.txt': 'x\ny\nz\nw\n',
      'gone.txt': null,
      'b.bin': new Uint8Array([0, 1, 2]),
    })
    github.addRepository({ name: 'octo/real', directory: folder.directory })
    const { body } = await call(jobToken(), 'GET', `/repos/octo/real/compare/${first}...${second}`)
    expect(body).toMatchObject({ status: 'ahead', ahead_by: 1, merge_base_commit: { sha: first } })
    const files = Object.fromEntries(body.files.map((file: { filename: string }) => [file.filename, file]))
    expect(files['a.txt']).toMatchObject({ status: 'modified', patch: '@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3' })
    expect(files['new.txt']).toMatchObject({ status: 'renamed', previous_filename: 'old.txt', changes: 0 })
    expect(files['gone.txt']).toMatchObject({ status: 'removed', sha: folder.git('rev-parse', `${first}:gone.txt`) })
    expect(files['b.bin']).not.toHaveProperty('patch')
    expect((await call(jobToken(), 'GET', `/repos/octo/real/compare/${second}...${first}`)).body).toMatchObject({
      status: 'behind',
      files: [],
    })
    expect((await call(jobToken(), 'GET', `/repos/octo/real/compare/${first}...${'d'.repeat(40)}`)).status).toBe(404)
    expect((await call(jobToken(), 'GET', '/repos/octo/real/git/ref/heads/main')).body.object.sha).toBe(second)
  })
})

describe('comments', () => {
  test('are kept with every body they had and who wrote it', async () => {
    const token = jobToken()
    const made = await call(token, 'POST', `/repos/octo/tools/issues/${pull.number}/comments`, { body: 'one' })
    expect(made.body).toMatchObject({ body: 'one', user: { login: 'github-actions[bot]', id: 41898282, type: 'Bot' } })
    await call(token, 'PATCH', `/repos/octo/tools/issues/comments/${made.body.id}`, { body: 'two' })
    expect((await call(token, 'DELETE', `/repos/octo/tools/issues/comments/${made.body.id}`)).status).toBe(204)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const again = await call(
        token,
        method,
        `/repos/octo/tools/issues/comments/${made.body.id}`,
        method === 'PATCH' ? { body: 'x' } : undefined,
      )
      expect([method, again.status]).toEqual([method, 404])
    }
    expect(github.comments[0]!.history.map(({ by, body }) => [by, body])).toEqual([
      ['github-actions[bot]', 'one'],
      ['github-actions[bot]', 'two'],
    ])
    expect(github.comments[0]!.deleted?.by).toBe('github-actions[bot]')
    expect(github.visibleComments(repository, pull.number)).toEqual([])
  })

  test('come in pages with links to the others, and only those since a time', async () => {
    for (let index = 0; index < 7; index += 1) github.addComment(repository, pull.number, 'wanda', `comment ${index}`)
    const token = jobToken()
    const path = `/repos/octo/tools/issues/${pull.number}/comments?per_page=3`
    const first = await call(token, 'GET', path)
    expect(first.body).toHaveLength(3)
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link')!)![1]!
    const last = /<([^>]+)>; rel="last"/.exec(first.headers.get('link')!)![1]!
    expect((await call(token, 'GET', next)).body.map((one: { body: string }) => one.body)).toEqual([
      'comment 3',
      'comment 4',
      'comment 5',
    ])
    const end = await call(token, 'GET', last)
    expect(end.body).toHaveLength(1)
    expect(end.headers.get('link')).not.toContain('rel="next"')
    github.comments[6]!.updatedAt += 60_000
    const since = new Date(Date.now() + 30_000).toISOString()
    expect((await call(token, 'GET', `${path}&since=${since}`)).body).toHaveLength(1)
  })

  test('of a review are answered in their thread, at its first comment only', async () => {
    const root = github.addReviewComment(repository, pull.number, 'wanda', 'why?')
    const token = jobToken()
    const reply = await call(token, 'POST', `/repos/octo/tools/pulls/${pull.number}/comments/${root.id}/replies`, {
      body: 'so',
    })
    expect(reply.body.in_reply_to_id).toBe(root.id)
    const toReply = `/repos/octo/tools/pulls/${pull.number}/comments/${reply.body.id}/replies`
    expect((await call(token, 'POST', toReply, { body: 'no' })).status).toBe(404)
    expect((await call(token, 'GET', `/repos/octo/tools/issues/comments/${root.id}`)).status).toBe(404)
  })

  test('are at most 65,536 characters long, not empty, and not made where the conversation is locked', async () => {
    const token = jobToken()
    const path = `/repos/octo/tools/issues/${pull.number}/comments`
    expect((await call(token, 'POST', path, { body: '🦊'.repeat(65_536) })).status).toBe(201)
    const long = await call(token, 'POST', path, { body: 'x'.repeat(65_537) })
    expect([long.status, long.body.errors[0].message]).toEqual([422, 'Body is too long (maximum is 65536 characters)'])
    expect((await call(token, 'POST', path, { body: '  ' })).status).toBe(422)
    pull.locked = true
    expect((await call(token, 'POST', path, { body: 'x' })).status).toBe(403)
    expect((await call(token, 'POST', '/repos/octo/tools/issues/999/comments', { body: 'x' })).status).toBe(404)
  })

  test('take a reaction once from each, and give back only your own', async () => {
    const comment = github.addComment(repository, pull.number, 'wanda', '/ask why')
    const path = `/repos/octo/tools/issues/comments/${comment.id}/reactions`
    const mine = await call(jobToken(), 'POST', path, { content: 'eyes' })
    const again = await call(jobToken(), 'POST', path, { content: 'eyes' })
    expect([mine.status, again.status, again.body.id]).toEqual([201, 200, mine.body.id])
    expect((await call(jobToken(), 'POST', path, { content: 'tada' })).status).toBe(422)
    const person = github.issueToken({ login: 'wanda', permissions: { pull_requests: 'write' } })
    expect((await call(person, 'DELETE', `${path}/${mine.body.id}`)).status).toBe(403)
    expect(github.reactionsOf(comment)).toEqual(['github-actions[bot]:eyes'])
    expect((await call(jobToken(), 'GET', `${path}?content=rocket`)).body).toEqual([])
    expect((await call(jobToken(), 'DELETE', `${path}/${mine.body.id}`)).status).toBe(204)
    expect(github.reactionsOf(comment)).toEqual([])
  })
})

describe('what a token may do', () => {
  test('nothing without one, with a wrong one, or with one that was revoked', async () => {
    const bare = await fetch(`${github.apiUrl}/repos/octo/tools`)
    expect(bare.status).toBe(401)
    const token = jobToken()
    github.revokeToken(token)
    expect((await call(token, 'GET', '/repos/octo/tools')).body.message).toBe('Bad credentials')
    const nameless = await fetch(`${github.apiUrl}/repos/octo/tools`, { headers: { 'user-agent': '' } })
    expect(nameless.status).toBe(403)
  })

  test('a comment on a pull request takes pull-requests, on an issue it takes issues', async () => {
    const issue = github.addIssue(repository)
    const write = async (permissions: Token['permissions'], number: number) => {
      const reply = await call(jobToken(permissions), 'POST', `/repos/octo/tools/issues/${number}/comments`, {
        body: 'x',
      })
      return [reply.status, reply.headers.get('x-accepted-github-permissions')]
    }
    expect(await write({ issues: 'write' }, pull.number)).toEqual([403, 'pull_requests=write'])
    expect(await write({ pull_requests: 'read' }, pull.number)).toEqual([403, 'pull_requests=write'])
    expect(await write({ pull_requests: 'write' }, pull.number)).toEqual([201, null])
    expect(await write({ pull_requests: 'write' }, issue)).toEqual([403, 'issues=write'])
    expect(await write({ issues: 'write' }, issue)).toEqual([201, null])
  })

  test('a private repository is hidden from tokens of others, and its contents need their permission', async () => {
    const secret = github.addRepository({ name: 'octo/secret', private: true, branches: { main: 'a'.repeat(40) } })
    const other = github.issueToken({ permissions: { contents: 'read' }, repositories: [repository] })
    expect((await call(other, 'GET', '/repos/octo/secret')).status).toBe(404)
    const bare = github.issueToken({ permissions: {}, repositories: [secret] })
    expect((await call(bare, 'GET', '/repos/octo/secret')).status).toBe(200)
    expect((await call(bare, 'GET', '/repos/octo/secret/git/ref/heads/main')).status).toBe(403)
    const reader = github.issueToken({ permissions: { contents: 'read' }, repositories: [secret] })
    expect((await call(reader, 'GET', '/repos/octo/secret/git/ref/heads/main')).status).toBe(200)
  })

  test('who one is: the viewer for every token, /user for persons only', async () => {
    const query = { query: 'query { viewer { login databaseId } }' }
    const job = await call(jobToken(), 'POST', '/graphql', query)
    expect(job.body.data.viewer).toEqual({ login: 'github-actions[bot]', databaseId: 41898282 })
    expect((await call(jobToken(), 'GET', '/user')).status).toBe(403)
    const person = github.issueToken({ login: 'wanda', permissions: {} })
    expect((await call(person, 'GET', '/user')).body.login).toBe('wanda')
  })
})

describe('limits', () => {
  test('the hour’s requests run out, and say when they come back', async () => {
    github.limits.exhaustHourlyLimit(30)
    const reply = await call(jobToken(), 'GET', '/repos/octo/tools')
    expect([reply.status, reply.headers.get('x-ratelimit-remaining')]).toEqual([403, '0'])
    const reset = Number(reply.headers.get('x-ratelimit-reset')) - Date.now() / 1_000
    expect(reset).toBeGreaterThan(28)
    expect(reset).toBeLessThan(32)
  })

  test('bursts are slowed down, as reported or by the number of comments in a minute', async () => {
    github.limits.addSecondaryLimit({ times: 1, method: 'GET', path: /tools$/, retryAfterSeconds: 7, status: 429 })
    const slow = await call(jobToken(), 'GET', '/repos/octo/tools')
    expect([slow.status, slow.headers.get('retry-after')]).toEqual([429, '7'])
    expect((await call(jobToken(), 'GET', '/repos/octo/tools')).status).toBe(200)
    await github.close()
    github = await startGitHub({ limits: { contentPerMinute: 2 } })
    const other = github.addRepository({ name: 'octo/tools' })
    const issue = github.addIssue(other)
    const write = () => call(jobToken(), 'POST', `/repos/octo/tools/issues/${issue}/comments`, { body: 'x' })
    expect([(await write()).status, (await write()).status]).toEqual([201, 201])
    const third = await write()
    expect([third.status, third.headers.get('retry-after')]).toEqual([403, '60'])
    expect(third.body.message).toContain('secondary rate limit')
    expect(github.comments).toHaveLength(2)
  })
})

describe("GitHub's own description", () => {
  const issues = '/repos/octo/tools/issues'

  test('refuses a request that GitHub does not have, and one that is not imitated', async () => {
    expect((await call(jobToken(), 'GET', '/repos/octo/tools/no-such-thing')).status).toBe(404)
    expect((await call(jobToken(), 'PATCH', `${issues}/1/comments`, { body: 'x' })).status).toBe(404)
    expect((await call(jobToken(), 'GET', '/repos/octo/tools/labels')).status).toBe(501)
    expect(github.unexpected).toEqual([
      'GET /repos/octo/tools/no-such-thing: GitHub does not have this',
      `PATCH ${issues}/1/comments: GitHub does not have this`,
      'GET /repos/octo/tools/labels: not imitated',
    ])
  })

  test.each([
    ['a number that is a word', 'GET', '/issues/seven/comments', undefined, 404, 'path issue_number must be integer'],
    ['an unknown query', 'GET', '/issues/1/comments?sort=up', undefined, 422, 'query sort is not described'],
    ['a wrong time', 'GET', '/issues/1/comments?since=today', undefined, 422, 'query since must match format'],
    ['a page that is a word', 'GET', '/issues/1/comments?page=two', undefined, 422, 'query page must be integer'],
    ['a body without its property', 'POST', '/issues/1/comments', {}, 422, "body must have required property 'body'"],
    ['a body of another type', 'POST', '/issues/1/comments', { body: 7 }, 422, 'body/body must be string'],
    [
      'an invented property',
      'POST',
      '/issues/1/comments',
      { body: 'x', pin: true },
      422,
      'additional properties (pin)',
    ],
    ['no body', 'POST', '/issues/1/comments', undefined, 422, 'the body is missing'],
    ['a body where none belongs', 'DELETE', '/issues/comments/7', { body: 'x' }, 422, 'there is a body'],
  ])('refuses %s', async (_what, method, rest, body, status, why) => {
    const reply = await call(jobToken(), method, `/repos/octo/tools${rest}`, body)
    expect(reply.status).toBe(status)
    expect(github.unexpected).toEqual([expect.stringContaining(why)])
  })

  test('refuses a body that is not said to be JSON', async () => {
    const headers = { authorization: `Bearer ${jobToken()}`, 'user-agent': 'test', 'content-type': 'text/plain' }
    await fetch(`${github.apiUrl}${issues}/1/comments`, { method: 'POST', headers, body: '{"body":"x"}' })
    expect(github.unexpected).toEqual([expect.stringContaining('a body of type text/plain is not described')])
  })

  test.each([
    ['a value of another type', () => Object.assign(repository, { defaultBranch: 7 }), 'reply/default_branch must be'],
    ['a property that GitHub does not have', () => Object.assign(repository.owner, { shoe: 43 }), '(shoe)'],
  ])('a reply with %s is a failure of the emulator', async (_what, spoil, why) => {
    spoil()
    await expect(call(jobToken(), 'GET', '/repos/octo/tools')).rejects.toThrow(why)
    expect(github.unexpected).toEqual([expect.stringContaining('as GitHub would not')])
  })

  test.each([
    ['webhook-issue-comment-created', 'addComment', 'created'],
    ['webhook-issue-comment-edited', 'addComment', 'edited'],
    ['webhook-issue-comment-deleted', 'addComment', 'deleted'],
    ['webhook-pull-request-review-comment-created', 'addReviewComment', 'created'],
  ] as const)('an event holds nothing that %s has not', async (component, how, action) => {
    const description = await loadDescription()
    const schema = { $ref: `#/components/schemas/${component}` }
    const { payload } = github.eventOf(github[how](repository, pull.number, 'wanda', '/ask why?'), action)
    const reported = JSON.parse(JSON.stringify(payload)) as object
    expect(description.problems(schema, fillRequiredProperties(description, schema, reported))).toEqual([])
    expect(description.problems(schema, { ...reported, extra: 1 })).toContainEqual(expect.stringContaining('(extra)'))
  })

  test('a reply has every property that GitHub promises', async () => {
    const { body } = await call(jobToken(), 'GET', '/repos/octo/tools')
    expect(Object.keys(body).length).toBeGreaterThan(70)
    expect(body).toMatchObject({ id: repository.id, stargazers_count: 0, clone_url: expect.stringContaining('octo') })
  })
})

test('an Enterprise Server has its API below a path and GraphQL beside it', async () => {
  await github.close()
  github = await startGitHub({ basePath: '/api/v3' })
  github.addRepository({ name: 'octo/tools' })
  const token = jobToken()
  expect((await call(token, 'GET', '/repos/octo/tools')).status).toBe(200)
  const query = { query: '{ viewer { login databaseId } }' }
  expect((await call(token, 'POST', `${github.url}/api/graphql`, query)).status).toBe(200)
  expect((await call(token, 'POST', `${github.apiUrl}/graphql`, query)).status).toBe(404)
  expect((await call(token, 'GET', `${github.url}/repos/octo/tools`)).status).toBe(404)
})

describe('tokens of jobs', () => {
  test('are handed out to the runner for an audience, signed with a published key', async () => {
    github.runJob(repository, { ref: 'refs/heads/main', sha: 'e'.repeat(40), event: 'issue_comment' })
    const reply = await call(
      github.oidc.requestToken,
      'GET',
      `${github.oidc.requestUrl}&audience=https%3A%2F%2Fours.example`,
    )
    const [head, body] = reply.body.value
      .split('.')
      .slice(0, 2)
      .map((part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    expect(body).toMatchObject({
      aud: 'https://ours.example',
      repository_id: String(repository.id),
      sha: 'e'.repeat(40),
    })
    const keys = await call('', 'GET', `${github.oidc.issuer}/.well-known/jwks`)
    expect(keys.body.keys.map((key: { kid: string }) => key.kid)).toEqual([head.kid])
    expect((await call('wrong', 'GET', github.oidc.requestUrl)).status).toBe(401)
  })
})

describe('the App', () => {
  const now = () => Math.floor(Date.now() / 1_000)
  const jwt = (claims: Record<string, unknown>, key = github.app.privateKey, header = {}) =>
    signToken(
      { id: 'x', privateKey: key as never, publicKey: key as never },
      { iss: '4242', iat: now() - 60, exp: now() + 540, ...claims },
      header,
    )

  test('buys a token for the repositories it is installed in, with no more than it was given', async () => {
    const found = await call(jwt({}), 'GET', '/repos/octo/tools/installation')
    expect(found.body.id).toBe(repository.installation)
    const path = `/app/installations/${found.body.id}/access_tokens`
    const bought = await call(jwt({}), 'POST', path, { repositories: ['tools'], permissions: { issues: 'write' } })
    expect(bought.status).toBe(201)
    expect((await call(bought.body.token, 'GET', '/repos/octo/tools')).status).toBe(200)
    expect((await call(jwt({}), 'POST', path, { permissions: { contents: 'write' } })).status).toBe(422)
    expect((await call(jwt({}), 'POST', path, { repositories: ['other'] })).status).toBe(422)
  })

  test('is not believed with another key, an old or long-lived token, or none', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const other = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    const path = '/repos/octo/tools/installation'
    expect((await call(jwt({}, other), 'GET', path)).status).toBe(401)
    expect((await call(jwt({}, undefined, { alg: 'none' }), 'GET', path)).status).toBe(401)
    expect((await call(jwt({ exp: now() - 1 }), 'GET', path)).status).toBe(401)
    expect((await call(jwt({ exp: now() + 3_600 }), 'GET', path)).status).toBe(401)
    expect((await call(jwt({ iat: now() + 300 }), 'GET', path)).status).toBe(401)
    expect((await call(jwt({ iss: '1' }), 'GET', path)).status).toBe(404)
    expect((await call(jobToken(), 'GET', path)).status).toBe(401)
    expect((await call(jwt({}), 'GET', '/repos/octo/elsewhere/installation')).status).toBe(404)
  })
})

test('a fault of the server is a fault of its GitHub: work done, reply lost', async () => {
  github.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'lose-reply' } })
  const path = `/repos/octo/tools/issues/${pull.number}/comments`
  await expect(call(jobToken(), 'POST', path, { body: 'x' })).rejects.toThrow()
  expect(github.visibleComments(repository, pull.number).map((one) => one.body)).toEqual(['x'])
})

test('an event is brought to a webhook with the signature that GitHub makes', async () => {
  const comment = github.addComment(repository, pull.number, 'wanda', '/ask wärum?')
  const hook = await startServer('hook', () => ({ status: 202 }))
  const reply = await github.deliver(hook.url, github.eventOf(comment), { secret: 'word', delivery: 'once' })
  expect(reply.status).toBe(202)
  const [request] = hook.requests
  expect(request!.headers).toMatchObject({ 'x-github-event': 'issue_comment', 'x-github-delivery': 'once' })
  const hash = createHmac('sha256', 'word').update(request!.body).digest('hex')
  expect(request!.headers['x-hub-signature-256']).toBe(`sha256=${hash}`)
  expect(JSON.parse(request!.body.toString())).toMatchObject({ action: 'created', comment: { body: '/ask wärum?' } })
  await hook.close()
})
