// Attacks on what decides who may act: signatures, tokens of jobs, permissions, names that changed hands, ids of others. Each is refused for its
// own stated reason, and before a machine or a model was asked for anything. The tests of the entry points check what they do with it.
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Job } from '../../src/action/job-context.js'
import { makeOidcTokens } from '../../src/action/remote-answer-source.js'
import type { Fault } from '../../src/emulators/faulty-server.js'
import { signToken } from '../../src/emulators/github/oidc.js'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import { type GitHubOptions, makeGitHub } from '../../src/handoff/clients/github/client.js'
import { makeOidcVerifier } from '../../src/handoff/clients/github/verify-oidc.js'
import { isSigned } from '../../src/handoff/clients/github/webhook-signature.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import { answerQuestion } from '../../src/handoff/workflows/answer/answer-question.js'
import { checkPermission } from '../../src/handoff/workflows/pull-request/check-permission.js'
import { findPreviousRun } from '../../src/handoff/workflows/summarise/previous-run.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import type { SummariseRequest } from '../../src/handoff/workflows/summarise/types.js'
import { manualClock } from '../support/clock.js'
import type { TestProcess } from '../support/scenario.js'
import { type ScriptedStack, startScriptedStack } from '../support/scripted-stack.js'

const never = new AbortController().signal
const audience = 'https://handoff.example'
let stack: ScriptedStack
let one: TestProcess
let github: LocalGitHub
let run: string

beforeAll(async () => {
  ;[stack, github] = await Promise.all([startScriptedStack(), startGitHub()])
  one = await stack.process({ patient: true })
  const place = stack.scenario('octo/tools')
  const { commit, ...rest } = place.summarise(one, 'first')
  run = (
    await summarise(
      { ...rest, commit: { ...commit, repository: { ...commit.repository, id: '11' } } },
      one.context,
      never,
    )
  ).run
  const repository = github.addRepository({ name: 'octo/tools', collaborators: { wanda: 'write', rita: 'read' } })
  github.runJob(repository)
  github.oidc.claims['aud'] = audience
}, 60_000)

afterAll(async () => {
  await one?.close()
  await Promise.all([stack?.close(), github?.close()])
})

/** Number of requests to each service that costs money. */
const spent = () => [stack.clouds.sandboxes.requests.length, stack.clouds.model.requests.length]

async function refusal(work: Promise<unknown>): Promise<object> {
  const error: unknown = await work.then(
    () => 'let in',
    (reason: unknown) => reason,
  )
  return isHandoffError(error) ? error.toJSON() : { error }
}

const repositoryAs = (name: string, id?: string) => {
  const asked = stack.scenario(name).ask(one, 'What is here?')
  return { ...asked, repository: { ...asked.repository, ...(id === undefined ? {} : { id }) } }
}

test.each<[string, () => Promise<unknown>, object]>([
  [
    'a question about a repository that was given the name of another',
    () => answerQuestion(repositoryAs('octo/tools', '12'), one.context, never),
    { code: 'forbidden', message: 'The run belongs to another repository that was once called octo/tools.' },
  ],
  [
    'a push of a repository that was given the name of another',
    () => {
      const { commit, ...rest } = stack.scenario('octo/tools').summarise(one, 'second')
      return summarise(
        { ...rest, commit: { ...commit, repository: { ...commit.repository, id: '12' } } },
        one.context,
        never,
      )
    },
    { code: 'forbidden', message: expect.stringContaining('another repository') },
  ],
  [
    'the run of another repository, by its id',
    () => answerQuestion({ ...repositoryAs('octo/other'), name: { run } }, one.context, never),
    { code: 'not-found', message: expect.stringContaining('was never summarised') },
  ],
  [
    'a run id that leads out of its folder',
    () =>
      answerQuestion(
        { ...repositoryAs('octo/other'), name: { run: `${'a'.repeat(40)}-../../tools/runs/x` } },
        one.context,
        never,
      ),
    { code: 'invalid-input', message: expect.stringContaining('is not a run id') },
  ],
  [
    'a commit id that is a path',
    () =>
      answerQuestion(
        { ...repositoryAs('octo/other'), name: { commit: '../../../octo/tools/commits/x' } },
        one.context,
        never,
      ),
    { code: 'invalid-input', message: expect.stringContaining('is not a full commit id') },
  ],
  [
    'a ref that is a path',
    () =>
      answerQuestion({ ...repositoryAs('octo/other'), name: { ref: 'refs/pull/../../commits/x' } }, one.context, never),
    { code: 'invalid-input', message: expect.stringContaining('is neither a branch nor a pull request') },
  ],
  [
    'an attempt under a name that leads elsewhere',
    () => summarise(stack.scenario('octo/new').summarise(one, '../../../elsewhere'), one.context, never),
    { code: 'invalid-input', message: expect.stringContaining('cannot name an attempt') },
  ],
  [
    'a clone address with a credential in it',
    () =>
      answerQuestion(
        {
          ...repositoryAs('octo/new'),
          name: { ref: 'refs/heads/main' },
          cloneUrl: 'http://me:secret@127.0.0.1:9/x.git',
        },
        one.context,
        never,
      ),
    { code: 'invalid-input', message: 'The clone address is not an http(s) address without credentials.' },
  ],
])('%s is refused, and nothing was spent', async (_what, attack, reported) => {
  const before = spent()
  expect(await refusal(attack())).toMatchObject(reported)
  expect(spent()).toEqual(before)
})

/** A push of the repository that has this number. */
const pushOf = (id: string, { commit, ...rest }: SummariseRequest): SummariseRequest => ({
  ...rest,
  commit: { ...commit, repository: { ...commit.repository, id } },
})

test('a run hidden by a crash is not given to another repository that took the name', async () => {
  const place = stack.scenario('octo/renamed')
  const route = 'PUT /v1/fs/…/commits/{sha}.json'
  await using dying = await stack.process({ faults: [{ cloud: 'drive', route, occurrence: 1, fault: 'dies before' }] })
  const stop = new AbortController()
  const dead = summarise(pushOf('11', place.summarise(dying, 'first')), dying.context, stop.signal).catch(
    () => undefined,
  )
  await dying.proxy.died
  stop.abort()
  await dead
  const before = spent()
  const reported = await refusal(summarise(pushOf('12', place.summarise(one, 'second')), one.context, never))
  expect(reported).toMatchObject({ code: 'forbidden', message: expect.stringContaining('another repository') })
  expect(spent()).toEqual(before)
  const { run: mended } = await summarise(pushOf('11', place.summarise(one, 'third')), one.context, never)
  expect(mended).toMatch(/-first$/)
})

test('text about a repository is not reused for another one that took its name', async () => {
  const { layout, summarise: push } = stack.scenario('octo/tools')
  const { sha: commits } = push(one, 'x').commit
  const asked = (id: string) => ({ ...pushOf(id, push(one, 'x')), reuseFrom: { commits: [commits] } })
  expect(await findPreviousRun(one.context, [layout], asked('11'), never)).toMatchObject({ handoff: { run } })
  expect(await findPreviousRun(one.context, [layout], asked('12'), never)).toBeUndefined()
})

const sha = 'b'.repeat(40)
const clock = manualClock({ jump: true, start: Date.now() })

const makeClient = (more: Partial<GitHubOptions> = {}) =>
  makeGitHub({
    apiUrl: github.apiUrl,
    serverUrl: github.url,
    credentials: { token: github.issueToken({ permissions: { pull_requests: 'write' } }) },
    userAgent: 'test',
    onNotice: () => undefined,
    ...more,
  })

test.each([
  ['an account with read permission only', 'rita', {}, { allowed: false, reason: 'permission' }],
  ['a stranger', 'mallory', {}, { allowed: false, reason: 'permission' }],
  ['a bot', 'wanda[bot]', { type: 'Bot' }, { allowed: false, reason: 'bot' }],
  ['an account that took over a name', 'wanda', { id: 999_999 }, { allowed: false, reason: 'other-account' }],
  ['a writer', 'wanda', {}, { allowed: true, level: 'write' }],
])('%s: the permission from GitHub decides', async (_who, login, changed, judged) => {
  const repository = github.addRepository({
    name: `octo/asked-${login.replace(/\W/g, '')}-${Math.random()}`,
    collaborators: { wanda: 'write', rita: 'read' },
  })
  const pull = github.addPull(repository, { head: { ref: 'x', sha } })
  const { author } = github.addComment(repository, pull.number, login, '/ask why?')
  const user = { login: author.login, id: author.id, type: author.type, ...changed }
  const name = `${repository.owner.login}/${repository.name}`
  expect(
    await checkPermission({ github: makeClient(), repository: name, user, allow: 'write' }, { signal: never }),
  ).toMatchObject(judged)
})

/** Not over until the test is: who is not let in must not be let in by trying again. */
const failing: [string, Fault][] = [
  ['fails', { kind: 'answer', status: 500, body: '{"message":"oops"}' }],
  ['says it is forbidden', { kind: 'answer', status: 403, body: '{"message":"Resource not accessible"}' }],
  ['cuts its reply', { kind: 'cut', bytes: 20 }],
  ['drops the connection', { kind: 'reset' }],
  ['says nothing', { kind: 'hang' }],
  ['talks nonsense', { kind: 'answer', status: 200, body: '{"permission":["admin"]}' }],
]

test.each(failing)('when GitHub %s instead of a permission, no question is answered', async (_how, fault) => {
  const name = `octo/failing-${Math.random()}`
  const repository = github.addRepository({ name, collaborators: { wanda: 'admin' } })
  const { author } = github.addComment(
    repository,
    github.addPull(repository, { head: { ref: 'x', sha } }).number,
    'wanda',
    '?',
  )
  const user = { login: author.login, id: author.id, type: author.type }
  const stop = github.server.rule({ path: /\/permission/, fault })
  const judged = refusal(
    checkPermission(
      { github: makeClient({ attemptMs: 50, clock }), repository: name, user, allow: 'read' },
      { signal: never },
    ),
  )
  expect(await judged.finally(stop)).toMatchObject({ code: expect.any(String), message: expect.any(String) })
})

test.each(failing)('when GitHub %s instead of its keys, no job is accepted', async (_how, fault) => {
  const verifier = makeOidcVerifier({ issuer: github.oidc.issuer, audience, fetchMs: 50 })
  const stop = github.server.rule({ path: /jwks/, fault })
  const judged = refusal(verifier.verify(github.oidc.mint()))
  expect(await judged.finally(stop)).toMatchObject({ code: expect.any(String), message: expect.any(String) })
})

test.each(failing)('when GitHub %s instead of a job’s identity token, the job has none', async (_how, fault) => {
  const { requestUrl, requestToken } = github.oidc
  const environment = { ACTIONS_ID_TOKEN_REQUEST_URL: requestUrl, ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken }
  const masked: string[] = []
  const runner = { mask: (secret: string) => masked.push(secret) } as unknown as Job['runner']
  const stop = github.server.rule({ path: /idtoken/, fault })
  const reported = await refusal(makeOidcTokens({ environment, runner }, audience)(AbortSignal.timeout(50))).finally(
    stop,
  )
  expect({ reported, masked }).toMatchObject({
    reported: { code: expect.any(String), message: expect.any(String) },
    masked: [],
  })
})

const foreign = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const now = () => Math.floor(Date.now() / 1_000)

test.each<[string, () => string, RegExp]>([
  [
    'signed with another key under a published key id',
    () => withKey({ privateKey: foreign.privateKey }),
    /signature verification failed/,
  ],
  [
    'signed with a key that is not published',
    () => withKey({ id: 'unknown', privateKey: foreign.privateKey }),
    /does not publish/,
  ],
  ['without a signature', () => `${github.oidc.mint().split('.').slice(0, 2).join('.')}.`, /not a JWT/],
  ['signed with a shared secret', () => symmetric(), /alg/],
  ['for another audience', () => github.oidc.mint({ aud: 'https://another.example' }), /another audience/],
  ['of another issuer', () => github.oidc.mint({ iss: 'https://evil.example' }), /another issuer/],
  ['that has expired', () => github.oidc.mint({ iat: now() - 900, nbf: now() - 900, exp: now() - 600 }), /has expired/],
  ['that is not valid yet', () => github.oidc.mint({ nbf: now() + 600 }), /not valid yet/],
  ['without a repository', () => github.oidc.mint({ repository_id: undefined }), /repository_id/],
])('a token of a job %s is refused', async (_what, token, reason) => {
  const verifier = makeOidcVerifier({ issuer: github.oidc.issuer, audience })
  expect(await refusal(verifier.verify(token()))).toMatchObject({
    code: 'unauthorized',
    message: expect.stringMatching(reason),
  })
})

function withKey(key: object): string {
  return signToken({ ...github.oidc.key, ...key }, claims())
}

const claims = () =>
  JSON.parse(Buffer.from(github.oidc.mint().split('.')[1]!, 'base64url').toString()) as Record<string, unknown>

/** The published key taken for a secret that both sides know. */
function symmetric(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', kid: github.oidc.key.id, typ: 'JWT' })}.${part(claims())}`
  return `${signed}.${createHmac('sha256', 'the public key').update(signed).digest('base64url')}`
}

const body = Buffer.from('{"action":"created"}')
const signed = (bytes: Uint8Array, secret: string, how = 'sha256') =>
  `${how}=${createHmac(how, secret).update(bytes).digest('hex')}`

test.each<[string, string | null, boolean]>([
  ['with the secret', signed(body, 'right'), true],
  ['with the secret that is about to go', signed(body, 'old'), true],
  ['with another secret', signed(body, 'wrong'), false],
  ['of another body', signed(Buffer.from('{"action":"deleted"}'), 'right'), false],
  ['that is missing', null, false],
  ['in the old way', signed(body, 'right', 'sha1'), false],
  ['cut short', signed(body, 'right').slice(0, -2), false],
  ['in capital letters', signed(body, 'right').toUpperCase(), false],
  ['empty', 'sha256=', false],
])('a webhook with a signature %s', (_what, header, good) => {
  expect(isSigned(body, header, ['right', 'old'])).toBe(good)
})

test('a webhook is refused if no secret is set, or an empty one', () => {
  for (const secrets of [[], ['']]) expect(() => isSigned(body, signed(body, ''), secrets)).toThrow(/no secret/)
})
