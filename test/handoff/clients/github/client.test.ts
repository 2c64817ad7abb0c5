// The GitHub client: the contract with the emulator (and with GitHub when a token is set), then faults.
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/server.js'
import type { Pull, Repository } from '../../../../src/emulators/github/state.js'
import { type GitHubOptions, makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { isHandoffError } from '../../../../src/handoff/domain/errors.js'
import type { Thread } from '../../../../src/handoff/domain/github.js'
import { gitHubContract } from '../../../contract/github.js'
import { manualClock } from '../../../support/clock.js'
import { gitFolder } from '../../../support/git-folder.js'
import { until } from '../../../support/until.js'

const userAgent = 'handoff-test'

async function localStack(basePath: string, credentials: (local: LocalGitHub) => GitHubOptions['credentials']) {
  const local = await startGitHub({ basePath })
  const folder = gitFolder()
  folder.commit({ 'a.txt': 'one\n' })
  folder.git('branch', 'side')
  const head = folder.commit({ 'a.txt': 'two\n' })
  folder.git('checkout', '--quiet', 'side')
  folder.git('branch', '--force', 'main', 'side')
  const repository = local.addRepository({ name: 'octo/tools', directory: folder.directory, app: true })
  const pull = local.addPull(repository, { head: { ref: 'topic', sha: head } })
  const root = local.addReviewComment(repository, pull.number, 'wanda', 'why?')
  return {
    github: makeGitHub({
      apiUrl: local.apiUrl,
      serverUrl: local.url,
      credentials: credentials(local),
      userAgent,
      clock: manualClock({ start: Date.now(), jump: true }),
    }),
    repository: 'octo/tools',
    pull: pull.number,
    branch: 'main',
    reviewRoot: root.id,
    async [Symbol.asyncDispose]() {
      expect(local.unexpected).toEqual([])
      await local.close()
      folder[Symbol.dispose]()
    },
  }
}

const jobPermissions = { contents: 'read', issues: 'write', pull_requests: 'write' } as const

gitHubContract('a job of Actions sees it', () =>
  localStack('', (local) => ({ token: local.issueToken({ permissions: jobPermissions }) })),
)
gitHubContract('a person sees an Enterprise Server', () =>
  localStack('/api/v3', (local) => ({ token: local.issueToken({ login: 'octo', permissions: jobPermissions }) })),
)
gitHubContract('an App sees it', () =>
  localStack('', ({ app }) => ({ appId: app.id, privateKey: app.privateKey.replaceAll('\n', '\\n') })),
)

// GitHub itself: needs an open pull request and the first comment of a review thread in it.
const live = process.env['LIVE_GITHUB_TOKEN']
if (live) {
  gitHubContract('it really is', async () => {
    const repository = process.env['LIVE_GITHUB_REPOSITORY'] ?? ''
    const credentials = { token: live }
    const github = makeGitHub({
      apiUrl: 'https://api.github.com',
      serverUrl: 'https://github.com',
      credentials,
      userAgent,
    })
    const facts = await github.repository(repository, { signal: AbortSignal.timeout(300_000) })
    return {
      github,
      repository,
      pull: Number(process.env['LIVE_GITHUB_PULL']),
      branch: facts.defaultBranch,
      reviewRoot: Number(process.env['LIVE_GITHUB_REVIEW_COMMENT']),
      async [Symbol.asyncDispose]() {},
    }
  })
}

describe('faults', () => {
  let local: LocalGitHub
  let repository: Repository
  let pull: Pull
  let thread: Thread
  let token: string
  const call = { signal: AbortSignal.timeout(300_000) }

  beforeEach(async () => {
    local = await startGitHub()
    repository = local.addRepository({ name: 'octo/tools', app: true, branches: { main: 'a'.repeat(40) } })
    pull = local.addPull(repository, { head: { ref: 'x', sha: 'b'.repeat(40) } })
    thread = { kind: 'issue', repository: 'octo/tools', number: pull.number }
    token = local.issueToken({ permissions: jobPermissions })
  })
  afterEach(async () => {
    await local.close()
  })

  function makeClient(options: Partial<GitHubOptions> = {}) {
    const notices: string[] = []
    const clock = manualClock({ start: Date.now(), jump: true })
    const github = makeGitHub({
      apiUrl: local.apiUrl,
      serverUrl: local.url,
      credentials: { token },
      userAgent,
      clock,
      onNotice: (text) => notices.push(text),
      ...options,
    })
    return { github, clock, notices }
  }

  const rejection = async (promise: Promise<unknown>) => {
    const error = await promise.then(
      () => null,
      (reason: unknown) => reason,
    )
    if (!isHandoffError(error)) throw new Error(`not a HandoffError: ${String(error)}`)
    return error
  }

  test('an idempotent request is repeated after 5xx and lost connections, with exponential waits', async () => {
    const { github, clock, notices } = makeClient()
    local.server.rule({ method: 'GET', times: 1, fault: { kind: 'answer', status: 502, body: '<html>' } })
    local.server.rule({ method: 'GET', skip: 1, times: 1, fault: { kind: 'reset' } })
    local.server.rule({ method: 'GET', skip: 2, times: 1, fault: { kind: 'cut', bytes: 10 } })
    expect(await github.branchHead('octo/tools', 'main', call)).toBe('a'.repeat(40))
    expect(clock.slept).toEqual([500, 1_000, 2_000])
    expect(notices[0]).toBe('GitHub answered 502 while reading a branch of octo/tools; trying again.')
  })

  test('a lasting outage ends in an error after four attempts', async () => {
    const { github } = makeClient()
    local.server.rule({ fault: { kind: 'answer', status: 503 } })
    const error = await rejection(github.repository('octo/tools', call))
    expect([error.code, error.message]).toEqual(['git', 'GitHub answered 503 while reading octo/tools.'])
    expect(local.server.requests).toHaveLength(4)
  })

  test('a missing reply ends in a timeout, a refused connection in its code', async () => {
    const { github } = makeClient({ attemptMs: 50 })
    local.server.rule({ fault: { kind: 'hang' } })
    expect((await rejection(github.repository('octo/tools', call))).message).toBe(
      'GitHub could not be reached (no answer in time) while reading octo/tools.',
    )
    const closed = await startGitHub()
    await closed.close()
    const unreachable = makeClient({ apiUrl: closed.apiUrl })
    expect((await rejection(unreachable.github.repository('octo/tools', call))).message).toBe(
      'GitHub could not be reached (ECONNREFUSED) while reading octo/tools.',
    )
  })

  test('an HTML page with status 200 is rejected', async () => {
    const { github } = makeClient()
    local.server.rule({ fault: { kind: 'answer', status: 200, body: '<html>login</html>' } })
    expect((await rejection(github.repository('octo/tools', call))).message).toContain('not JSON')
    local.server.clearRules()
    local.server.rule({ fault: { kind: 'answer', status: 200, body: '{"id":"x"}' } })
    expect((await rejection(github.repository('octo/tools', call))).message).toBe(
      "GitHub's reply while reading octo/tools has an unexpected form: id is not a count.",
    )
  })

  test('a secondary rate limit waits as Retry-After says, else one minute and then two', async () => {
    const { github, clock, notices } = makeClient({ maximumWaitMs: 300_000 })
    local.limits.addSecondaryLimit({ times: 1, retryAfterSeconds: 7 })
    local.limits.addSecondaryLimit({ times: 2, retryAfterSeconds: null, status: 429 })
    const made = await github.createComment(thread, 'hello', call)
    expect(made.body).toBe('hello')
    expect(clock.slept).toEqual([7_000, 60_000, 120_000])
    expect(notices[0]).toBe(`GitHub asks to wait 7 s while writing a comment in octo/tools#${pull.number}.`)
    expect(local.comments).toHaveLength(1)
  })

  test('the primary rate limit waits until its reset', async () => {
    const clock = manualClock({ start: Date.now() })
    const { github } = makeClient({ clock })
    local.limits.exhaustHourlyLimit(20)
    const answer = github.repository('octo/tools', call)
    await until('it waits', () => clock.waiting > 0)
    expect(clock.slept[0]).toBeGreaterThan(19_000)
    expect(clock.slept[0]).toBeLessThanOrEqual(22_000)
    local.limits.exhaustHourlyLimit(0)
    clock.advance(22_000)
    expect((await answer).fullName).toBe('octo/tools')
  })

  test('a wait that is too long or not wanted is reported with its seconds', async () => {
    const { github, clock } = makeClient({ maximumWaitMs: 30_000 })
    local.limits.exhaustHourlyLimit(1_000)
    const error = await rejection(github.repository('octo/tools', call))
    expect(error.code).toBe('git')
    expect(error.retryAfterSeconds).toBeGreaterThan(990)
    expect(error.retryAfterSeconds).toBeLessThan(1_003)
    expect(clock.slept).toEqual([])
    local.limits.exhaustHourlyLimit(0)
    local.limits.addSecondaryLimit({ times: 1, retryAfterSeconds: 5 })
    const hurried = await rejection(github.repository('octo/tools', { ...call, patient: false }))
    expect([hurried.retryAfterSeconds, hurried.next]).toEqual([5, 'Try again in 5 s.'])
  })

  test('a deadline during a wait reports the seconds left; a cancellation reports itself', async () => {
    const clock = manualClock({ start: Date.now() })
    const { github } = makeClient({ clock })
    local.limits.addSecondaryLimit({ times: 2, retryAfterSeconds: 40 })
    const late = new AbortController()
    const limited = rejection(github.repository('octo/tools', { signal: late.signal }))
    await until('it waits', () => clock.waiting > 0)
    clock.advance(10_000)
    late.abort(new DOMException('late', 'TimeoutError'))
    expect(await limited).toMatchObject({ code: 'git', retryAfterSeconds: 30 })
    const stop = new AbortController()
    const stopped = rejection(github.repository('octo/tools', { signal: stop.signal }))
    await until('it waits', () => clock.waiting > 0)
    stop.abort()
    expect(await stopped).toMatchObject({ code: 'cancelled' })
  })

  test('a cancelled call ends at once, before and during a request', async () => {
    const { github } = makeClient()
    expect((await rejection(github.repository('octo/tools', { signal: AbortSignal.abort() }))).code).toBe('cancelled')
    expect(local.server.requests).toHaveLength(0)
    local.server.rule({ fault: { kind: 'hang' } })
    const error = await rejection(github.repository('octo/tools', { signal: AbortSignal.timeout(50) }))
    expect([error.code, error.message]).toEqual(['timeout', 'Time ran out while reading octo/tools.'])
  })

  test('refusals name a next step and never contain the token', async () => {
    const { github } = makeClient()
    token = local.issueToken({ permissions: { issues: 'write' } })
    const weak = makeClient().github
    const forbidden = await rejection(weak.createComment(thread, 'x', call))
    expect([forbidden.code, forbidden.next]).toEqual([
      'forbidden',
      'The token needs one of these permissions: “pull_requests=write”.',
    ])
    local.revokeToken(token)
    const unauthorized = await rejection(weak.repository('octo/tools', call))
    expect([unauthorized.code, unauthorized.message]).toEqual([
      'unauthorized',
      'GitHub rejected the token while reading octo/tools. GitHub says “Bad credentials”.',
    ])
    const missing = await rejection(github.repository('octo/other', call))
    expect(missing.code).toBe('not-found')
    for (const error of [forbidden, unauthorized, missing]) {
      expect(JSON.stringify([error, error.stack, error.cause])).not.toContain(token)
    }
  })

  test('a token with invalid characters is refused without being shown', async () => {
    const make = () => makeClient({ credentials: { token: 'ghs_secret\nvalue' } })
    expect(make).toThrow('invalid characters')
    expect(make).not.toThrow('secret')
    expect(() => makeClient({ apiUrl: 'https://user:word@example.org' })).toThrow('without credentials')
  })

  test('a comment whose create reply was lost is found, not created twice', async () => {
    const { github, notices } = makeClient()
    local.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'lose-reply' } })
    const { comment } = await github.ensureComment(thread, { marker: '<!-- m -->', body: '<!-- m -->\nhi' }, call)
    expect(local.visibleComments(repository, pull.number).map(({ id }) => id)).toEqual([comment.id])
    expect(local.comments).toHaveLength(1)
    expect(notices.join()).toContain('Checking whether the comment exists')
  })

  test('a failed create is repeated by ensureComment', async () => {
    const { github } = makeClient()
    local.server.rule({ method: 'POST', path: /comments$/, times: 2, fault: { kind: 'answer', status: 502 } })
    const { created } = await github.ensureComment(thread, { marker: '<!-- m -->', body: '<!-- m -->\nhi' }, call)
    expect([created, local.comments.length]).toEqual([true, 1])
  })

  test('createComment is not repeated', async () => {
    const { github } = makeClient()
    local.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'lose-reply' } })
    expect((await rejection(github.createComment(thread, 'hi', call))).code).toBe('git')
    expect(local.comments).toHaveLength(1)
  })

  test('a list that does not show the new comment yet is tolerated', async () => {
    const { github } = makeClient()
    const lists = { method: 'GET', path: /comments\?/ }
    local.server.rule({ ...lists, skip: 1, times: 1, fault: { kind: 'answer', status: 200, body: '[]' } })
    const { comment, created } = await github.ensureComment(
      thread,
      { marker: '<!-- m -->', body: '<!-- m -->\nhi' },
      call,
    )
    expect([created, comment.id]).toEqual([true, local.comments[0]!.id])
  })

  test('a comment in another review thread is not reused', async () => {
    const { github } = makeClient()
    const first = local.addReviewComment(repository, pull.number, 'wanda', 'one thread')
    const second = local.addReviewComment(repository, pull.number, 'wanda', 'another')
    const at = (root: number) => ({ kind: 'review', repository: 'octo/tools', number: pull.number, root }) as const
    const wanted = { marker: '<!-- m -->', body: '<!-- m -->\nhi' }
    const here = await github.ensureComment(at(first.id), wanted, call)
    const there = await github.ensureComment(at(second.id), wanted, call)
    expect([here.created, there.created]).toEqual([true, true])
    expect([here.comment.root, there.comment.root]).toEqual([first.id, second.id])
  })

  test('a duplicated create request leaves one comment', async () => {
    const { github } = makeClient()
    local.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'twice' } })
    const { comment, created } = await github.ensureComment(
      thread,
      { marker: '<!-- m -->', body: '<!-- m -->\nhi' },
      call,
    )
    expect(local.visibleComments(repository, pull.number).map(({ id }) => id)).toEqual([comment.id])
    expect(comment.id).toBe(local.comments[0]!.id)
    expect(created).toBe(false)
  })

  test('a comment is ours when it starts with the marker and has our author', async () => {
    const { github } = makeClient()
    const marker = '<!-- m -->'
    local.addComment(repository, pull.number, 'wanda', `${marker}\npasted`)
    local.addComment(repository, pull.number, 'github-actions[bot]', `> quoted\n${marker}`)
    for (let index = 0; index < 230; index += 1) local.addComment(repository, pull.number, 'wanda', `noise ${index}`)
    const ours = local.addComment(repository, pull.number, 'github-actions[bot]', `${marker}\nours`)
    ours.author = local.addUser('github-actions[bot]', { id: 41898282 })
    const found = await github.ownComments(thread, { marker }, call)
    expect(found.map(({ id }) => id)).toEqual([ours.id])
    expect(
      local.server.requests.filter(({ path }) => path.includes('/comments?')).map(({ path }) => path.slice(-6)),
    ).toEqual(['page=1', 'page=2', 'page=3'])
  })

  test('a renamed repository is followed on the same origin only', async () => {
    const { github } = makeClient()
    const moved = (location: string) => ({ kind: 'answer', status: 307, headers: { location }, body: '' }) as const
    local.server.rule({
      path: /octo\/old\/issues/,
      fault: moved(`${local.apiUrl}/repos/octo/tools/issues/${pull.number}/comments`),
    })
    const old = { ...thread, repository: 'octo/old' }
    expect((await github.createComment(old, 'hi', call)).body).toBe('hi')
    const elsewhere = await startGitHub()
    local.server.rule({ path: /octo\/gone/, fault: moved(`${elsewhere.apiUrl}/repos/octo/tools`) })
    expect((await rejection(github.repository('octo/gone', call))).message).toContain('redirected to another server')
    expect(elsewhere.server.requests).toHaveLength(0)
    await elsewhere.close()
  })

  describe('with the credentials of an App', () => {
    const credentials = () => ({ appId: local.app.id, privateKey: local.app.privateKey })
    const tokenRequests = () => local.server.requests.filter(({ path }) => path.endsWith('/access_tokens'))

    test('a token is requested for one repository, cached, and renewed five minutes before it expires', async () => {
      const clock = manualClock({ start: Date.now() })
      const { github } = makeClient({ credentials: credentials(), clock })
      await github.repository('octo/tools', call)
      await github.repository('octo/tools', call)
      expect(tokenRequests().map(({ body }) => JSON.parse(body.toString()))).toEqual([
        { repositories: ['tools'], permissions: { contents: 'read', issues: 'write', pull_requests: 'write' } },
      ])
      clock.advance(54 * 60_000)
      await github.repository('octo/tools', call)
      expect(tokenRequests()).toHaveLength(1)
      clock.advance(2 * 60_000)
      const error = await rejection(github.repository('octo/tools', call))
      // Our clock is an hour ahead of GitHub's now, so GitHub refuses the new JWT. Only the request counts.
      expect(error.code).toBe('unauthorized')
      expect(local.server.requests.filter(({ path }) => path.endsWith('/installation'))).toHaveLength(2)
    })

    test('concurrent callers share one token per repository', async () => {
      local.addRepository({ name: 'octo/second', app: true })
      const { github } = makeClient({ credentials: credentials() })
      const names = ['octo/tools', 'octo/second', 'octo/tools', 'octo/tools', 'octo/second']
      await Promise.all(names.map((name) => github.repository(name, call)))
      expect(tokenRequests()).toHaveLength(2)
      await github.repository('octo/tools', call)
      expect(tokenRequests()).toHaveLength(2)
    })

    test('a failed token request fails for all that wait, and the next caller requests again', async () => {
      const { github } = makeClient({ credentials: credentials() })
      const takeBack = local.server.rule({
        path: /access_tokens$/,
        fault: { kind: 'answer', status: 422, body: '{"message":"no"}' },
      })
      const errors = await Promise.all([1, 2, 3].map(() => rejection(github.repository('octo/tools', call))))
      expect(new Set(errors).size).toBe(1)
      expect(tokenRequests()).toHaveLength(1)
      takeBack()
      expect((await github.repository('octo/tools', call)).fullName).toBe('octo/tools')
    })

    test('a cancelled caller does not cancel the token request of the others', async () => {
      const { github } = makeClient({ credentials: credentials() })
      const first = new AbortController()
      const takeBack = local.server.rule({ path: /access_tokens$/, times: 1, fault: { kind: 'hang' } })
      const left = rejection(github.repository('octo/tools', { signal: first.signal }))
      const others = [1, 2].map(() => github.repository('octo/tools', call))
      const impatient = new AbortController()
      const gone = rejection(github.repository('octo/tools', { signal: impatient.signal }))
      await until('the first asks', () => tokenRequests().length === 1)
      impatient.abort()
      expect((await gone).code).toBe('cancelled')
      first.abort()
      expect((await left).code).toBe('cancelled')
      expect((await Promise.all(others)).map(({ fullName }) => fullName)).toEqual(['octo/tools', 'octo/tools'])
      expect(tokenRequests()).toHaveLength(2)
      takeBack()
    })

    test('a revoked token is replaced once', async () => {
      const { github } = makeClient({ credentials: credentials() })
      await github.repository('octo/tools', call)
      local.revokeToken(lastToken())
      expect((await github.repository('octo/tools', call)).fullName).toBe('octo/tools')
      expect(tokenRequests()).toHaveLength(2)
    })

    test('concurrent callers with a revoked token share one new token', async () => {
      const { github } = makeClient({ credentials: credentials() })
      await github.repository('octo/tools', call)
      local.revokeToken(lastToken())
      await Promise.all([1, 2, 3, 4].map(() => github.repository('octo/tools', call)))
      expect(tokenRequests()).toHaveLength(2)
    })

    const lastToken = () => {
      const request = local.server.requests.findLast(({ path }) => path === '/repos/octo/tools')!
      return request.headers['authorization']!.replace('Bearer ', '')
    }

    test('a missing installation and missing permissions are reported', async () => {
      const { github } = makeClient({ credentials: credentials() })
      local.addRepository({ name: 'octo/other' })
      expect((await rejection(github.repository('octo/other', call))).message).toBe(
        'The GitHub App is not installed in octo/other.',
      )
      local.app.permissions = { contents: 'read' }
      expect((await rejection(github.repository('octo/tools', call))).message).toContain(
        'not granted to this installation',
      )
    })

    test('an invalid private key is refused without being shown', () => {
      const make = (privateKey: string) => () => makeClient({ credentials: { appId: '1', privateKey } })
      expect(make('-----BEGIN RSA PRIVATE KEY-----\nsecret\n-----END RSA PRIVATE KEY-----')).toThrow('cannot be read')
      expect(make('secret')).not.toThrow('secret')
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      expect(make(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toThrow('cannot be read')
    })
  })
})
