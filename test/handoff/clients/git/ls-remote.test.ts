import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Handler, startServer } from '../../../../src/emulators/faulty-server.js'
import { type GitRemote, startGitRemote } from '../../../../src/emulators/git-http-server.js'
import { makeGitHost, packet } from '../../../../src/handoff/clients/git/ls-remote.js'
import { isHandoffError } from '../../../../src/handoff/domain/errors.js'
import { refusal } from '../../../support/refusal.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

let repository: TestRepository
let remote: GitRemote

beforeAll(async () => {
  repository = await makeRepository([{ a: '1' }, { a: '2' }], {
    refs: { 'refs/pull/7/head': 0, 'refs/heads/main-two': 0, 'refs/heads/é“x”': 0 },
    tags: { v1: 0 },
  })
  remote = await startGitRemote({ repositories: { 'owner/name': repository.directory } })
})
afterEach(() => {
  remote.clearRules()
  remote.require(undefined)
})
afterAll(async () => {
  await remote.close()
  await repository[Symbol.asyncDispose]()
})

const inTime = () => AbortSignal.timeout(60_000)
const host = makeGitHost({ firstWaitMs: 1 })
/** Runs with a server that answers as no real git host does. */
async function withServer<T>(handle: Handler, use: (url: string, paths: () => string[]) => Promise<T>): Promise<T> {
  await using server = await startServer('odd host', handle)
  return await use(`${server.url}/o/n.git`, () => server.requests.map((request) => request.path))
}

describe('what refs point to', () => {
  it('is read in one request, for these refs only', async () => {
    const before = remote.requests.length
    const found = await host.heads(remote.cloneUrl('owner/name'), ['refs/heads/main', 'refs/pull/7/head'], inTime())
    expect([...found]).toEqual([
      ['refs/heads/main', repository.commits[1]],
      ['refs/pull/7/head', repository.commits[0]],
    ])
    expect(remote.requests.slice(before).map((request) => request.method)).toEqual(['POST'])
  })

  it('leaves out refs that are missing and refs that share a prefix', async () => {
    const found = await host.heads(
      remote.cloneUrl('owner/name'),
      ['refs/heads/mai', 'refs/heads/main-tw', 'refs/heads/none'],
      inTime(),
    )
    expect([...found]).toEqual([])
  })

  it('includes the branch that HEAD points to', async () => {
    const found = await host.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime())
    expect([...found]).toEqual([
      ['HEAD', repository.commits[1]],
      ['refs/heads/main', repository.commits[1]],
    ])
  })

  it('resolves an annotated tag to its commit', async () => {
    const found = await host.heads(remote.cloneUrl('owner/name'), ['refs/tags/v1'], inTime())
    expect([...found]).toEqual([['refs/tags/v1', repository.commits[0]]])
  })

  it('reads names with characters outside ASCII', async () => {
    const found = await host.heads(remote.cloneUrl('owner/name'), ['refs/heads/é“x”'], inTime())
    expect([...found.values()]).toEqual([repository.commits[0]])
  })

  it('is nothing for a repository without commits', async () => {
    await using empty = await makeRepository([])
    remote.serve('owner/empty', empty.directory)
    expect((await host.heads(remote.cloneUrl('owner/empty'), ['HEAD', 'refs/heads/main'], inTime())).size).toBe(0)
  })

  it('sends no request when no ref is wanted', async () => {
    expect((await host.heads('http://127.0.0.1:1/none', [], inTime())).size).toBe(0)
  })

  it('is refused by a server that does not speak protocol version 2', async () => {
    await using old = await startGitRemote({ repositories: { 'owner/name': repository.directory }, version2: false })
    const error = await refusal(host.heads(old.cloneUrl('owner/name'), ['HEAD'], inTime()))
    expect(error.code).toBe('git')
    expect(`${error.message} ${error.next}`).toMatch(/clone address/)
    expect(old.requests.every((request) => request.method === 'POST')).toBe(true)
  })
})

describe('a credential', () => {
  const token = 'secret-of-the-test'
  const credentials = { username: 'x-access-token', password: token }

  it('reads a private repository', async () => {
    remote.require(credentials)
    const found = await makeGitHost({ token }).heads(remote.cloneUrl('owner/name'), ['refs/heads/main'], inTime())
    expect(found.size).toBe(1)
  })

  it('that is wrong or missing is reported as such', async () => {
    remote.require(credentials)
    const without = await refusal(host.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime()))
    expect(without).toMatchObject({ code: 'not-found' })
    expect(without.message).toMatch(/does not exist, or it is not public and no credential is set \(401\)/)
    const wrong = makeGitHost({ token: 'wrong-secret' })
    const refused = await refusal(wrong.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime()))
    // The caller may not learn that the operator's credential is wrong, so it is not `unauthorized`.
    expect(refused).toMatchObject({ code: 'git' })
    expect(refused.message).toMatch(/does not exist, or the credential cannot read it \(401\)/)
    expect(JSON.stringify([refused, refused.stack])).not.toContain('wrong-secret')
    expect(JSON.stringify([refused, refused.stack])).not.toContain(
      Buffer.from('x-access-token:wrong-secret').toString('base64'),
    )
  })

  it('is not sent to another origin after a redirect', async () => {
    const found = await withServer(
      (request) => ({
        status: 307,
        headers: { location: `${remote.url}${request.path.replace('/o/n', '/owner/name')}` },
      }),
      (url) => makeGitHost({ token }).heads(url, ['refs/heads/main'], inTime()),
    )
    expect(found.size).toBe(1)
    expect(remote.requests.at(-1)?.headers['authorization']).toBeUndefined()
  })

  it('is sent again after a redirect to the same origin', async () => {
    let seen: string | undefined
    await withServer(
      (request) => {
        if (request.path.startsWith('/o/'))
          return { status: 301, headers: { location: request.path.replace('/o/', '/moved/') } }
        seen = request.headers['authorization']
        return { status: 404 }
      },
      (url) => refusal(makeGitHost({ token }).heads(url, ['HEAD'], inTime())),
    )
    expect(seen).toBe(`Basic ${Buffer.from('x-access-token:secret-of-the-test').toString('base64')}`)
  })

  it('is refused in the clone address', async () => {
    const error = await refusal(host.heads('https://user:pa55word@example.com/o/n.git', ['HEAD'], inTime()))
    expect(error.code).toBe('invalid-input')
    expect(JSON.stringify([error, error.stack])).not.toContain('pa55word')
  })
})

describe('a failure', () => {
  it('says that a repository does not exist, for each status that means it', async () => {
    for (const status of [401, 403, 404]) {
      const error = await withServer(
        () => ({ status }),
        (url) => refusal(host.heads(url, ['HEAD'], inTime())),
      )
      expect(error).toMatchObject({
        code: 'not-found',
        next: 'Check its name, and the credential that reads it.',
      })
      expect(error.message).toContain(`(${status})`)
    }
  })

  it('of the server is retried twice, then reported', async () => {
    remote.rule({ times: 2, fault: { kind: 'reset' } })
    expect((await host.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime())).size).toBe(2)
    remote.rule({ fault: { kind: 'answer', status: 502 } })
    const before = remote.requests.length
    const error = await refusal(host.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime()))
    expect(error.message).toBe(`The git host ${new URL(remote.url).host} failed (502).`)
    expect(remote.requests.length - before).toBe(3)
  })

  it('with a long Retry-After is reported at once', async () => {
    remote.rule({ fault: { kind: 'answer', status: 429, headers: { 'retry-after': '90' } } })
    const before = remote.requests.length
    const error = await refusal(host.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime()))
    expect(error).toMatchObject({ code: 'git', retryAfterSeconds: 90 })
    expect(remote.requests.length - before).toBe(1)
  })

  it('of the connection names the host', async () => {
    const gone = await startServer('gone', () => undefined)
    await gone.close()
    const error = await refusal(host.heads(`${gone.url}/o/n.git`, ['HEAD'], inTime()))
    expect(error.message).toBe(`The git host ${new URL(gone.url).host} cannot be reached (ECONNREFUSED).`)
  })

  it('to answer in time ends each attempt, and the signal of the caller ends all', async () => {
    remote.rule({ fault: { kind: 'hang' } })
    const slow = makeGitHost({ requestMs: 30, firstWaitMs: 1 })
    const before = remote.requests.length
    const error = await refusal(slow.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime()))
    expect(error.message).toContain('cannot be reached (no answer in time)')
    expect(remote.requests.length - before).toBe(3)
    expect(await refusal(host.heads(remote.cloneUrl('owner/name'), ['HEAD'], AbortSignal.timeout(30)))).toMatchObject({
      code: 'timeout',
    })
    expect(await refusal(host.heads(remote.cloneUrl('owner/name'), ['HEAD'], AbortSignal.abort()))).toMatchObject({
      code: 'cancelled',
    })
  })

  it('in the middle of a reply is retried', async () => {
    remote.rule({ times: 1, fault: { kind: 'cut', bytes: 60 } })
    expect((await host.heads(remote.cloneUrl('owner/name'), ['HEAD'], inTime())).size).toBe(2)
  })

  it('to speak git is reported, whatever the address answers', async () => {
    const headsFrom = (body: string) =>
      withServer(
        () => ({ status: 200, body }),
        (url) => host.heads(url, ['HEAD'], inTime()),
      )
    for (const body of ['<!doctype html><p>Hello</p>', '', '{"ok":true}', 'zzzz', '0009'])
      expect((await refusal(headsFrom(body))).message).toMatch(/does not answer like a git host/)
    // An empty listing is a listing of nothing.
    expect((await headsFrom('0000')).size).toBe(0)
  })

  it('that the host describes itself is quoted without control characters', async () => {
    const words = 'ERR access\u0007 denied, go away'
    const error = await withServer(
      () => ({ status: 200, body: packet(words) }),
      (url) => refusal(host.heads(url, ['HEAD'], inTime())),
    )
    expect(error.message).toBe('The git host says: “access� denied, go away”.')
  })

  it('to end a chain of redirects is reported', async () => {
    const circle = await withServer(
      (request) => ({ status: 302, headers: { location: request.path } }),
      async (url, paths) => ({ error: await refusal(host.heads(url, ['HEAD'], inTime())), paths: paths() }),
    )
    expect(circle.error.message).toMatch(/redirects too often or to an address that is not safe/)
    expect(circle.paths).toHaveLength(4)
    const elsewhere = await withServer(
      () => ({ status: 302, headers: { location: 'file:///etc/passwd' } }),
      (url) => refusal(host.heads(url, ['HEAD'], inTime())),
    )
    expect(elsewhere.message).toMatch(/redirects too often or to an address that is not safe/)
  })

  it('of the caller is refused before any request', async () => {
    for (const ref of ['main', 'refs/heads/a b', 'refs/heads/a\nwant', '', 'refs/', `refs/${'a'.repeat(501)}`]) {
      const error = await refusal(host.heads(remote.cloneUrl('owner/name'), [ref], inTime()))
      expect(isHandoffError(error, 'invalid-input')).toBe(true)
    }
    for (const url of ['git@github.com:o/n.git', 'file:///tmp/x', '', 'ssh://git@host/x']) {
      expect((await refusal(host.heads(url, ['HEAD'], inTime()))).code).toBe('invalid-input')
    }
  })
})
