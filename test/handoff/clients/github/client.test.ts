// The line to GitHub: the contract on the local GitHub (and on the real one when a token is given), then everything that goes wrong.
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../../../src/emulators/github/github.js'
import type { Pull, Repository } from '../../../../src/emulators/github/world.js'
import { type GitHubOptions, makeGitHub } from '../../../../src/handoff/clients/github/client.js'
import { isHandoffError } from '../../../../src/handoff/domain/errors.js'
import type { Thread } from '../../../../src/handoff/domain/github.js'
import { gitHubContract } from '../../../contract/github.js'
import { manualClock } from '../../../support/clock.js'
import { gitFolder } from '../../../support/commits.js'
import { until } from '../../../support/until.js'

const userAgent = 'handoff-test'

async function localWorld(basePath: string, credentials: (local: LocalGitHub) => GitHubOptions['credentials']) {
  const local = await startGitHub({ basePath })
  const folder = gitFolder()
  folder.commit({ 'a.txt': 'one\n' })
  folder.git('branch', 'side')
  const head = folder.commit({ 'a.txt': 'two\n' })
  folder.git('checkout', '--quiet', 'side')
  folder.git('branch', '--force', 'main', 'side')
  const repository = local.addRepository({ name: 'octo/tools', directory: folder.directory, app: true })
  const pull = local.addPull(repository, { head: { ref: 'topic', sha: head } })
  const root = local.sayInReview(repository, pull.number, 'wanda', 'why?')
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
  localWorld('', (local) => ({ token: local.issueToken({ permissions: jobPermissions }) })),
)
gitHubContract('a person sees an Enterprise Server', () =>
  localWorld('/api/v3', (local) => ({ token: local.issueToken({ login: 'octo', permissions: jobPermissions }) })),
)
gitHubContract('an App sees it', () =>
  localWorld('', ({ app }) => ({ appId: app.id, privateKey: app.privateKey.replaceAll('\n', '\\n') })),
)

// The real one: an open pull request to write on, and the first comment of a review thread there.
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
    const facts = await github.repository(repository, { signal: AbortSignal.timeout(30_000) })
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

describe('when things go wrong', () => {
  let local: LocalGitHub
  let repository: Repository
  let pull: Pull
  let thread: Thread
  let token: string
  const call = { signal: AbortSignal.timeout(60_000) }

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

  function line(options: Partial<GitHubOptions> = {}) {
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

  test('5xx and dropped connections are repeated for what may be repeated, with longer and longer waits', async () => {
    const { github, clock, notices } = line()
    local.server.rule({ method: 'GET', times: 1, fault: { kind: 'answer', status: 502, body: '<html>' } })
    local.server.rule({ method: 'GET', skip: 1, times: 1, fault: { kind: 'reset' } })
    local.server.rule({ method: 'GET', skip: 2, times: 1, fault: { kind: 'cut', bytes: 10 } })
    expect(await github.branchHead('octo/tools', 'main', call)).toBe('a'.repeat(40))
    expect(clock.slept).toEqual([500, 1_000, 2_000])
    expect(notices[0]).toBe('GitHub answered 502 while reading a branch of octo/tools; trying again.')
  })

  test('an outage that lasts ends in a sentence', async () => {
    const { github } = line()
    local.server.rule({ fault: { kind: 'answer', status: 503 } })
    const error = await rejection(github.repository('octo/tools', call))
    expect([error.code, error.message]).toEqual(['git', 'GitHub answered 503 while reading octo/tools.'])
    expect(local.server.requests).toHaveLength(4)
  })

  test('a server that does not answer is given up after a while, and one that is not there at once', async () => {
    const { github } = line({ attemptMs: 50 })
    local.server.rule({ fault: { kind: 'hang' } })
    expect((await rejection(github.repository('octo/tools', call))).message).toBe(
      'GitHub could not be reached (no answer in time) while reading octo/tools.',
    )
    const closed = await startGitHub()
    await closed.close()
    const nobody = line({ apiUrl: closed.apiUrl })
    expect((await rejection(nobody.github.repository('octo/tools', call))).message).toBe(
      'GitHub could not be reached (ECONNREFUSED) while reading octo/tools.',
    )
  })

  test('a page of a proxy with status 200 is not an answer', async () => {
    const { github } = line()
    local.server.rule({ fault: { kind: 'answer', status: 200, body: '<html>login</html>' } })
    expect((await rejection(github.repository('octo/tools', call))).message).toContain('not JSON')
    local.server.clearRules()
    local.server.rule({ fault: { kind: 'answer', status: 200, body: '{"id":"x"}' } })
    expect((await rejection(github.repository('octo/tools', call))).message).toBe(
      "GitHub's reply while reading octo/tools is not what we know: id is not a count.",
    )
  })

  test('a secondary limit is waited for as GitHub asks, else a minute and then two', async () => {
    const { github, clock, notices } = line({ maximumWaitMs: 300_000 })
    local.limits.slowDown({ times: 1, retryAfterSeconds: 7 })
    local.limits.slowDown({ times: 2, retryAfterSeconds: null, status: 429 })
    const made = await github.createComment(thread, 'hello', call)
    expect(made.body).toBe('hello')
    expect(clock.slept).toEqual([7_000, 60_000, 120_000])
    expect(notices[0]).toBe(`GitHub asks to wait 7 s while writing a comment in octo/tools#${pull.number}.`)
    expect(local.comments).toHaveLength(1)
  })

  test('the primary limit is waited for until it is over', async () => {
    const clock = manualClock({ start: Date.now() })
    const { github } = line({ clock })
    local.limits.exhaust(20)
    const answer = github.repository('octo/tools', call)
    await until('it waits', () => clock.waiting > 0)
    expect(clock.slept[0]).toBeGreaterThan(19_000)
    expect(clock.slept[0]).toBeLessThanOrEqual(22_000)
    local.limits.exhaust(0)
    clock.advance(22_000)
    expect((await answer).fullName).toBe('octo/tools')
  })

  test('a wait that is too long, or not wanted, is told with its seconds', async () => {
    const { github, clock } = line({ maximumWaitMs: 30_000 })
    local.limits.exhaust(1_000)
    const error = await rejection(github.repository('octo/tools', call))
    expect(error.code).toBe('git')
    expect(error.retryAfterSeconds).toBeGreaterThan(990)
    expect(error.retryAfterSeconds).toBeLessThan(1_003)
    expect(clock.slept).toEqual([])
    local.limits.exhaust(0)
    local.limits.slowDown({ times: 1, retryAfterSeconds: 5 })
    const hurried = await rejection(github.repository('octo/tools', { ...call, patient: false }))
    expect([hurried.retryAfterSeconds, hurried.next]).toEqual([5, 'Try again in 5 s.'])
  })

  test('when our time runs out in a wait, the caller learns how much of it is left; when somebody stops us, that', async () => {
    const clock = manualClock({ start: Date.now() })
    const { github } = line({ clock })
    local.limits.slowDown({ times: 2, retryAfterSeconds: 40 })
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

  test('a stopped call ends at once, before and during a request', async () => {
    const { github } = line()
    expect((await rejection(github.repository('octo/tools', { signal: AbortSignal.abort() }))).code).toBe('cancelled')
    expect(local.server.requests).toHaveLength(0)
    local.server.rule({ fault: { kind: 'hang' } })
    const error = await rejection(github.repository('octo/tools', { signal: AbortSignal.timeout(50) }))
    expect([error.code, error.message]).toEqual(['timeout', 'Time ran out while reading octo/tools.'])
  })

  test('refusals say what to do, and the token is in none of them', async () => {
    const { github } = line()
    token = local.issueToken({ permissions: { issues: 'write' } })
    const weak = line().github
    const forbidden = await rejection(weak.createComment(thread, 'x', call))
    expect([forbidden.code, forbidden.next]).toEqual([
      'forbidden',
      'The token needs one of these permissions: “pull_requests=write”.',
    ])
    local.revokeToken(token)
    const unauthorized = await rejection(weak.repository('octo/tools', call))
    expect([unauthorized.code, unauthorized.message]).toEqual([
      'unauthorized',
      'GitHub does not accept our token while reading octo/tools. GitHub says “Bad credentials”.',
    ])
    const missing = await rejection(github.repository('octo/other', call))
    expect(missing.code).toBe('not-found')
    for (const error of [forbidden, unauthorized, missing]) {
      expect(JSON.stringify([error, error.stack, error.cause])).not.toContain(token)
    }
  })

  test('a token that no header can hold is refused without being shown', async () => {
    const make = () => line({ credentials: { token: 'ghs_secret\nvalue' } })
    expect(make).toThrow('characters that no token has')
    expect(make).not.toThrow('secret')
    expect(() => line({ apiUrl: 'https://user:word@example.org' })).toThrow('without credentials')
  })

  test('a comment whose creation was not answered is found again, not made twice', async () => {
    const { github, notices } = line()
    local.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'lose-reply' } })
    const { comment } = await github.ensureComment(thread, { marker: '<!-- m -->', body: '<!-- m -->\nhi' }, call)
    expect(local.visible(repository, pull.number).map(({ id }) => id)).toEqual([comment.id])
    expect(local.comments).toHaveLength(1)
    expect(notices.join()).toContain('Looking whether the comment is there')
  })

  test('a creation that did not arrive is tried again', async () => {
    const { github } = line()
    local.server.rule({ method: 'POST', path: /comments$/, times: 2, fault: { kind: 'answer', status: 502 } })
    const { created } = await github.ensureComment(thread, { marker: '<!-- m -->', body: '<!-- m -->\nhi' }, call)
    expect([created, local.comments.length]).toEqual([true, 1])
  })

  test('a plain creation is not repeated', async () => {
    const { github } = line()
    local.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'lose-reply' } })
    expect((await rejection(github.createComment(thread, 'hi', call))).code).toBe('git')
    expect(local.comments).toHaveLength(1)
  })

  test('a list that does not show yet what was just made costs nothing', async () => {
    const { github } = line()
    const lists = { method: 'GET', path: /comments\?/ }
    local.server.rule({ ...lists, skip: 1, times: 1, fault: { kind: 'answer', status: 200, body: '[]' } })
    const { comment, created } = await github.ensureComment(
      thread,
      { marker: '<!-- m -->', body: '<!-- m -->\nhi' },
      call,
    )
    expect([created, comment.id]).toEqual([true, local.comments[0]!.id])
  })

  test('a comment in another review thread is not the one', async () => {
    const { github } = line()
    const first = local.sayInReview(repository, pull.number, 'wanda', 'one thread')
    const second = local.sayInReview(repository, pull.number, 'wanda', 'another')
    const at = (root: number) => ({ kind: 'review', repository: 'octo/tools', number: pull.number, root }) as const
    const wanted = { marker: '<!-- m -->', body: '<!-- m -->\nhi' }
    const here = await github.ensureComment(at(first.id), wanted, call)
    const there = await github.ensureComment(at(second.id), wanted, call)
    expect([here.created, there.created]).toEqual([true, true])
    expect([here.comment.root, there.comment.root]).toEqual([first.id, second.id])
  })

  test('a network that doubles the request leaves one comment', async () => {
    const { github } = line()
    local.server.rule({ method: 'POST', path: /comments$/, times: 1, fault: { kind: 'twice' } })
    const { comment, created } = await github.ensureComment(
      thread,
      { marker: '<!-- m -->', body: '<!-- m -->\nhi' },
      call,
    )
    expect(local.visible(repository, pull.number).map(({ id }) => id)).toEqual([comment.id])
    expect(comment.id).toBe(local.comments[0]!.id)
    expect(created).toBe(false)
  })

  test('only comments that have the marker at their start and are ours are ours', async () => {
    const { github } = line()
    const marker = '<!-- m -->'
    local.say(repository, pull.number, 'wanda', `${marker}\npasted`)
    local.say(repository, pull.number, 'github-actions[bot]', `> quoted\n${marker}`)
    for (let index = 0; index < 230; index += 1) local.say(repository, pull.number, 'wanda', `noise ${index}`)
    const ours = local.say(repository, pull.number, 'github-actions[bot]', `${marker}\nours`)
    ours.author = local.addUser('github-actions[bot]', { id: 41898282 })
    const found = await github.ownComments(thread, { marker }, call)
    expect(found.map(({ id }) => id)).toEqual([ours.id])
    expect(
      local.server.requests.filter(({ path }) => path.includes('/comments?')).map(({ path }) => path.slice(-6)),
    ).toEqual(['page=1', 'page=2', 'page=3'])
  })

  test('a repository that was renamed is followed on the same host, and never to another', async () => {
    const { github } = line()
    const moved = (location: string) => ({ kind: 'answer', status: 307, headers: { location }, body: '' }) as const
    local.server.rule({
      path: /octo\/old\/issues/,
      fault: moved(`${local.apiUrl}/repos/octo/tools/issues/${pull.number}/comments`),
    })
    const old = { ...thread, repository: 'octo/old' }
    expect((await github.createComment(old, 'hi', call)).body).toBe('hi')
    const elsewhere = await startGitHub()
    local.server.rule({ path: /octo\/gone/, fault: moved(`${elsewhere.apiUrl}/repos/octo/tools`) })
    expect((await rejection(github.repository('octo/gone', call))).message).toContain('somewhere else')
    expect(elsewhere.server.requests).toHaveLength(0)
    await elsewhere.close()
  })

  describe('with the credentials of an App', () => {
    const credentials = () => ({ appId: local.app.id, privateKey: local.app.privateKey })
    const bought = () => local.server.requests.filter(({ path }) => path.endsWith('/access_tokens'))

    test('a token is bought for one repository, kept, and bought anew five minutes before it ends', async () => {
      const clock = manualClock({ start: Date.now() })
      const { github } = line({ credentials: credentials(), clock })
      await github.repository('octo/tools', call)
      await github.repository('octo/tools', call)
      expect(bought().map(({ body }) => JSON.parse(body.toString()))).toEqual([
        { repositories: ['tools'], permissions: { contents: 'read', issues: 'write', pull_requests: 'write' } },
      ])
      clock.advance(54 * 60_000)
      await github.repository('octo/tools', call)
      expect(bought()).toHaveLength(1)
      clock.advance(2 * 60_000)
      const error = await rejection(github.repository('octo/tools', call))
      // Our clock is an hour ahead of GitHub's now, so GitHub refuses the new signature; that it was asked is what counts.
      expect(error.code).toBe('unauthorized')
      expect(local.server.requests.filter(({ path }) => path.endsWith('/installation'))).toHaveLength(2)
    })

    test('callers at the same time buy one token, and one for each repository', async () => {
      local.addRepository({ name: 'octo/second', app: true })
      const { github } = line({ credentials: credentials() })
      const names = ['octo/tools', 'octo/second', 'octo/tools', 'octo/tools', 'octo/second']
      await Promise.all(names.map((name) => github.repository(name, call)))
      expect(bought()).toHaveLength(2)
      await github.repository('octo/tools', call)
      expect(bought()).toHaveLength(2)
    })

    test('a purchase that fails fails for all who wait, and the next caller buys again', async () => {
      const { github } = line({ credentials: credentials() })
      const takeBack = local.server.rule({
        path: /access_tokens$/,
        fault: { kind: 'answer', status: 422, body: '{"message":"no"}' },
      })
      const errors = await Promise.all([1, 2, 3].map(() => rejection(github.repository('octo/tools', call))))
      expect(new Set(errors).size).toBe(1)
      expect(bought()).toHaveLength(1)
      takeBack()
      expect((await github.repository('octo/tools', call)).fullName).toBe('octo/tools')
    })

    test('a caller who leaves takes the token from none of the others', async () => {
      const { github } = line({ credentials: credentials() })
      const first = new AbortController()
      const takeBack = local.server.rule({ path: /access_tokens$/, times: 1, fault: { kind: 'hang' } })
      const left = rejection(github.repository('octo/tools', { signal: first.signal }))
      const others = [1, 2].map(() => github.repository('octo/tools', call))
      const impatient = new AbortController()
      const gone = rejection(github.repository('octo/tools', { signal: impatient.signal }))
      await until('the first asks', () => bought().length === 1)
      impatient.abort()
      expect((await gone).code).toBe('cancelled')
      first.abort()
      expect((await left).code).toBe('cancelled')
      expect((await Promise.all(others)).map(({ fullName }) => fullName)).toEqual(['octo/tools', 'octo/tools'])
      expect(bought()).toHaveLength(2)
      takeBack()
    })

    test('a token that was revoked is replaced once', async () => {
      const { github } = line({ credentials: credentials() })
      await github.repository('octo/tools', call)
      local.revokeToken(lastToken())
      expect((await github.repository('octo/tools', call)).fullName).toBe('octo/tools')
      expect(bought()).toHaveLength(2)
    })

    test('callers at the same time whose token was revoked are all served, by one new token', async () => {
      const { github } = line({ credentials: credentials() })
      await github.repository('octo/tools', call)
      local.revokeToken(lastToken())
      await Promise.all([1, 2, 3, 4].map(() => github.repository('octo/tools', call)))
      expect(bought()).toHaveLength(2)
    })

    const lastToken = () => {
      const request = local.server.requests.findLast(({ path }) => path === '/repos/octo/tools')!
      return request.headers['authorization']!.replace('Bearer ', '')
    }

    test('where it is not installed, or may too little, that is what it says', async () => {
      const { github } = line({ credentials: credentials() })
      local.addRepository({ name: 'octo/other' })
      expect((await rejection(github.repository('octo/other', call))).message).toBe(
        'Our GitHub App is not installed in octo/other.',
      )
      local.app.permissions = { contents: 'read' }
      expect((await rejection(github.repository('octo/tools', call))).message).toContain(
        'not granted to this installation',
      )
    })

    test('a key that is none is refused without being shown', () => {
      const make = (privateKey: string) => () => line({ credentials: { appId: '1', privateKey } })
      expect(make('-----BEGIN RSA PRIVATE KEY-----\nsecret\n-----END RSA PRIVATE KEY-----')).toThrow('cannot be read')
      expect(make('secret')).not.toThrow('secret')
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      expect(make(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toThrow('cannot be read')
    })
  })
})
