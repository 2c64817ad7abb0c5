// Calls of a summary that few runs make: each one is refused for good, and loses its reply once. The first ends the run, the second does no harm.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, RecordedRequest } from '../../../../src/emulators/faulty-server.js'
import { digestLines } from '../../../../src/handoff/domain/citations/digest-lines.js'
import type { Correction } from '../../../../src/handoff/domain/corrections/correction.js'
import {
  answerQuestion,
  isHandoffError,
  layout,
  type SummariseResult,
  summarise,
} from '../../../../src/handoff/index.js'
import { changeCorrections } from '../../../../src/handoff/store/correction-store.js'
import { sha256 } from '../../../../src/handoff/store/run-store.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

const never = new AbortController().signal
const refused: Fault = { kind: 'answer', status: 500, body: '{"error":"storage backend unavailable"}' }
let stack: LocalStack
let small: TestRepository
/** Its list of changed files has more than 50,000 bytes, so the host stores it by upload. */
let large: TestRepository
let served = 0

const module = (index: number, value: number) =>
  [`src/a-folder-with-a-long-name/part-${index}/module-${index}.ts`, `export const value${index} = ${value}\n`] as const
const modules = (value: number) => Object.fromEntries(Array.from({ length: 400 }, (_, index) => module(index, value)))

beforeAll(async () => {
  ;[small, large, stack] = await Promise.all([
    makeRepository([{ 'src/greet.ts': 'export const greet = 1\n' }, { 'src/greet.ts': 'export const greet = 2\n' }]),
    makeRepository([modules(1), modules(2)]),
    startLocalStack({ repositories: {}, repeated: {} }),
  ])
})

afterEach(() => {
  stack.clouds.drive.clearRules()
  stack.clouds.sandboxes.clearRules()
})

afterAll(async () => {
  await stack?.close()
  await Promise.all([small, large].map((repository) => repository?.[Symbol.asyncDispose]()))
})

/** A repository of its own for each run. */
function request(repository: TestRepository) {
  served += 1
  const name = `octo-${served}/tools`
  stack.remote.serve(name, repository.directory)
  return { commit: stack.commit(name, repository.head), attempt: 'first', base: repository.commits[0]! }
}

async function failure(work: Promise<unknown>) {
  const error: unknown = await work.then(
    () => 'no error',
    (reason: unknown) => reason,
  )
  if (!isHandoffError(error)) throw error
  return error.toJSON()
}

/** The run ends with this error, and leaves no pointer, no sandbox and no token. */
async function expectRefused(given: ReturnType<typeof request>, expected: object) {
  expect(await failure(summarise(given, stack.context, never))).toMatchObject({ ...expected, next: expect.any(String) })
  const { drive, sandboxes } = stack.clouds
  expect(drive.readFile(layout('/handoff', given.commit.repository).pointer(given.commit.sha))).toBeUndefined()
  expect(sandboxes.sandboxes.filter(({ state }) => state !== 'gone')).toEqual([])
  expect(drive.issuedTokens().filter(({ revoked }) => !revoked)).toEqual([])
}

/** The run is sealed, and each of its files has the recorded hash. */
async function expectSealed(given: ReturnType<typeof request>): Promise<SummariseResult> {
  const result = await summarise(given, stack.context, never)
  const { drive } = stack.clouds
  const stored = result.handoff.artifacts.map(({ path }) => sha256(drive.readFile(`${result.directory}/${path}`)!))
  expect(stored).toEqual(result.handoff.artifacts.map((artifact) => artifact.sha256))
  expect(result.change).toMatchObject({ head: given.commit.sha, base: given.base })
  return result
}

async function correctFirstLine({ commit }: ReturnType<typeof request>): Promise<void> {
  const blob = await small.git('rev-parse', `${commit.sha}:src/greet.ts`)
  const digest = digestLines(['export const greet = 2'])
  const correction = {
    id: 'issue-1',
    at: '2026-11-01T00:00:00.000Z',
    by: 'wanda',
    text: 'It greets.',
    commit: commit.sha,
    places: [{ path: 'src/greet.ts', blob, from: 1, to: 1, digest }],
  }
  const change = (found: readonly Correction[]) => (found.length > 0 ? found : [correction])
  await changeCorrections(stack.context.ports.drive, layout('/handoff', commit.repository), change, never)
}

const byHost = ({ headers }: RecordedRequest) => headers['authorization'] === `Bearer ${stack.clouds.drive.ownerKey}`
/** What is sent to the object storage has no key; the host sends after the sandbox is gone. */
const afterSandbox = () => stack.clouds.sandboxes.sandboxes.every(({ state }) => state === 'gone')

interface Call {
  what: string
  repository: () => TestRepository
  method: string
  path: RegExp
  match: (request: RecordedRequest) => boolean
  /** The repository has a correction of the first line of its file. */
  correction?: true
  /** Without a fault of its own, the call before this one makes the client ask. */
  after?: { method: string; path: RegExp; fault: Fault }
}

const upload = { repository: () => large, match: byHost }
const calls: Call[] = [
  {
    what: 'reading the marker after it was written twice',
    repository: () => small,
    method: 'GET',
    path: /\/runs\/[^/]+\/\.handoff-marker$/,
    match: byHost,
    after: { method: 'PUT', path: /\/runs\/[^/]+\/\.handoff-marker$/, fault: { kind: 'twice' } },
  },
  {
    what: 'listing what the sandbox left in its stage',
    repository: () => small,
    method: 'GET',
    path: /\/stage\/project\?list=1$/,
    match: byHost,
  },
  {
    what: 'looking for notes whose writing had no reply',
    repository: () => small,
    method: 'HEAD',
    path: /\/analysis\/notes\.json$/,
    match: byHost,
    after: { method: 'PUT', path: /\/analysis\/notes\.json$/, fault: { kind: 'lose-reply' } },
  },
  {
    what: 'storing what a pull request changes',
    repository: () => small,
    method: 'PUT',
    path: /\/analysis\/changes\/[0-9a-f]{40}\.json$/,
    match: byHost,
  },
  {
    what: 'looking for a change whose writing had no reply',
    repository: () => small,
    method: 'HEAD',
    path: /\/analysis\/changes\/[0-9a-f]{40}\.json$/,
    match: byHost,
    after: { method: 'PUT', path: /\/analysis\/changes\/[0-9a-f]{40}\.json$/, fault: { kind: 'lose-reply' } },
  },
  {
    what: 'storing the corrections that hold for the commit',
    repository: () => small,
    correction: true,
    method: 'PUT',
    path: /\/runs\/[^/]+\/analysis\/corrections\.json$/,
    match: byHost,
  },
  {
    what: 'looking for corrections whose writing had no reply',
    repository: () => small,
    correction: true,
    method: 'HEAD',
    path: /\/runs\/[^/]+\/analysis\/corrections\.json$/,
    match: byHost,
    after: { method: 'PUT', path: /\/runs\/[^/]+\/analysis\/corrections\.json$/, fault: { kind: 'lose-reply' } },
  },
  { what: 'beginning an upload', ...upload, method: 'POST', path: /^\/v2\/uploads\/initiate$/ },
  { what: 'asking for addresses', ...upload, method: 'POST', path: /^\/v2\/uploads\/[^/]+\/presign-batch$/ },
  { what: 'sending a part', ...upload, method: 'PUT', path: /^\/s3\//, match: afterSandbox },
  { what: 'completing an upload', ...upload, method: 'POST', path: /^\/v2\/uploads\/[^/]+\/complete$/ },
]

describe.each(calls)('$what', ({ repository, correction, method, path, match, after }) => {
  const meet = (fault: Fault, times?: number) => {
    let met = 0
    const count = (one: RecordedRequest) => match(one) && ++met > 0
    if (after) stack.clouds.drive.rule({ ...after, times: 1 })
    stack.clouds.drive.rule({ method, path, match: count, fault, ...(times === undefined ? {} : { times }) })
    return () => met
  }

  test('that is refused ends the run with the reason, and nothing is sealed', async () => {
    const met = meet(refused)
    const given = request(repository())
    if (correction) await correctFirstLine(given)
    await expectRefused(given, {
      code: 'drive',
      // The reply to HEAD has no body.
      message: expect.stringMatching(
        /storage backend unavailable|answered 500 to HEAD .*(notes|corrections|[0-9a-f]{40})\.json/,
      ),
    })
    expect(met()).toBeGreaterThan(0)
  })

  test('that loses its reply once leads to a complete run', async () => {
    const met = meet({ kind: 'lose-reply' }, 1)
    const given = request(repository())
    if (correction) await correctFirstLine(given)
    await expectSealed(given)
    expect(met()).toBeGreaterThan(0)
  })
})

test('an upload that breaks off is ended, and a failure of that changes nothing', async () => {
  const { drive } = stack.clouds
  const ends: string[] = []
  const match = ({ path }: RecordedRequest) => ends.push(path) > 0
  drive.rule({ method: 'PUT', path: /^\/s3\//, match: afterSandbox, fault: refused })
  drive.rule({ method: 'POST', path: /^\/v2\/uploads\/[^/]+\/abort$/, match, fault: refused })
  await expectRefused(request(large), { code: 'drive', message: expect.stringContaining('storage backend') })
  await expect.poll(() => ends.length).toBeGreaterThan(0)
})

test('corrections of a run that cannot be read cost the corrections, and no answer', async () => {
  const given = request(small)
  await correctFirstLine(given)
  const { run } = await expectSealed(given)
  const cloneUrl = stack.remote.cloneUrl(given.commit.repository.name)
  /** Whether the correction was in a request to the model. */
  async function ask(text: string): Promise<boolean> {
    const before = stack.clouds.model.requests.length
    const { record } = await answerQuestion(
      { repository: given.commit.repository, cloneUrl, name: { run }, question: { text } },
      stack.context,
      never,
    )
    expect(record.status).toBe('done')
    return stack.clouds.model.requests.slice(before).some(({ body }) => body.includes('It greets.'))
  }
  expect(await ask('What is greet?')).toBe(true)
  const path = /\/runs\/[^/]+\/analysis\/corrections\.json$/
  stack.clouds.drive.rule({ method: 'GET', path, match: byHost, fault: refused })
  expect(await ask('What does greet export?')).toBe(false)
})

describe('reading what a pull request changes in a run that exists', () => {
  const path = /\/analysis\/changes\/[0-9a-f]{40}\.json$/

  test('that breaks off once gives the whole of it', async () => {
    const given = request(small)
    const { change } = await expectSealed(given)
    stack.clouds.drive.rule({ method: 'GET', path, times: 1, fault: { kind: 'cut', bytes: 7 } })
    expect(await summarise(given, stack.context, never)).toMatchObject({ reused: true, change })
  })

  test('that is refused is an error, because a comment without it would be wrong', async () => {
    const given = request(small)
    await expectSealed(given)
    stack.clouds.drive.rule({ method: 'GET', path, fault: refused })
    expect(await failure(summarise(given, stack.context, never))).toMatchObject({
      code: 'drive',
      message: expect.stringContaining('storage backend unavailable'),
      next: expect.any(String),
    })
  })
})

describe('a command whose connection breaks off', () => {
  /** E2B's library asks after the machine then. */
  const breakOff = (fault: Fault) => {
    const { sandboxes } = stack.clouds
    sandboxes.rule({ path: /process\.Process\/Start$/, times: 1, fault: { kind: 'cut', bytes: 60 } })
    sandboxes.rule({ method: 'GET', path: /^\/health$/, fault })
  }

  test('ends the run, and says that the machine is gone when E2B says so', async () => {
    breakOff({ kind: 'answer', status: 502, body: '{"message":"The sandbox was not found","code":502}' })
    await expectRefused(request(small), { code: 'sandbox', message: expect.stringContaining('the sandbox is gone') })
  })

  test.each<Fault>([{ kind: 'answer', status: 500 }, { kind: 'reset' }])(
    'ends the run, and names the connection when E2B does not say ($kind $status)',
    async (fault) => {
      breakOff(fault)
      await expectRefused(request(small), { code: 'sandbox', message: expect.stringContaining('connection') })
    },
  )
})
