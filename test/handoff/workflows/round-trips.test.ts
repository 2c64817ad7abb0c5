// Which round trips a push and a question make. One more costs each run the time of a round trip, so a change here is a decision.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RecordedRequest } from '../../../src/emulators/faulty-server.js'
import { answerQuestion, type SummariseResult, summarise } from '../../../src/handoff/index.js'
import { serviceOf } from '../../support/call-log.js'
import { type CloudName, routeOf } from '../../support/fault-proxy.js'
import { type LocalStack, startLocalStack } from '../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'
import { tokenFiles } from '../../support/token-files.js'

const name = 'octo/tools'
const never = new AbortController().signal
let repository: TestRepository
let stack: LocalStack
let run: SummariseResult

beforeAll(async () => {
  repository = await makeRepository([tokenFiles, { 'src/added.ts': 'export const added = 1\n' }])
  stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  await push(0)
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

async function push(index: number): Promise<void> {
  const commit = stack.commit(name, repository.commits[index]!, 'refs/heads/main')
  const reuseFrom = { commits: repository.commits.slice(0, index) }
  run = await summarise({ commit, attempt: `push-${index}`, reuseFrom }, stack.context, never)
}

const ask = (text: string) => {
  const { repository: where } = stack.commit(name, repository.head)
  const question = { text, asker: 'test' }
  return answerQuestion({ repository: where, name: { run: run.run }, question }, stack.context, never)
}

/** What was asked while this ran: of the drive by the host and from inside the sandbox, of the sandboxes, and of the model. */
async function countedBy(work: () => Promise<unknown>) {
  const { drive, sandboxes, model } = stack.clouds
  const from = [drive, sandboxes, model].map(({ requests }) => requests.length)
  await work()
  const [ofDrive, ofSandboxes, ofModel] = [drive, sandboxes, model].map(({ requests }, index) =>
    requests.slice(from[index]),
  )
  const byService = (service: string) =>
    ofDrive!.filter((request) => serviceOf('drive9', request) === service && !isByMount(request))
  return {
    host: linesOf('drive', byService('drive')),
    inside: linesOf('inside', uploadsOf(byService('inside'))),
    sandboxes: linesOf('sandboxes', ofSandboxes!),
    model: ofModel!.length,
    sent: byService('inside').filter(({ method }) => method === 'PUT'),
  }
}

/** The mount may read back what it has just uploaded. */
const isByMount = ({ method, path }: RecordedRequest) => method === 'GET' && /\/stage\/(analysis|project)\//.test(path)

/** The mount uploads a file before or after its rename, as it comes: before it, each has the name that it gets. */
function uploadsOf(requests: RecordedRequest[]): RecordedRequest[] {
  const isRename = ({ method, path }: RecordedRequest) => method === 'POST' && path.endsWith('?rename=1')
  const names = requests.filter(isRename).map(({ path }) => path.replace('?rename=1', ''))
  return requests
    .filter((request) => !isRename(request))
    .map((request) => {
      const isEarly = request.method === 'PUT' && /\/\.handoff-\d+$/.test(request.path)
      return isEarly ? { ...request, path: names.shift() ?? request.path } : request
    })
}

/** Each call once, with how often it was made. */
function linesOf(cloud: CloudName, requests: RecordedRequest[]): string[] {
  const counts = new Map<string, number>()
  for (const request of requests) {
    const route = routeOf(cloud, request).replace('/v1/fs/…/', '').replace('runs/{run}/', '')
    counts.set(route, (counts.get(route) ?? 0) + 1)
  }
  return [...counts].map(([route, count]) => (count === 1 ? route : `${route} × ${count}`)).sort()
}

test('a push that builds on the one before', async () => {
  const { host, inside, sandboxes, model, sent } = await countedBy(() => push(1))
  expect(host).toEqual([
    'DELETE /v1/tokens/{id}',
    'DELETE commits/{sha}.parts.json',
    'DELETE stage?recursive=1',
    'GET analysis/code-summary.md',
    'GET analysis/files.json × 3',
    'GET analysis/handoff.json',
    'GET analysis/notes.json',
    'GET analysis/outline.json',
    'GET analysis/search-pages',
    'GET analysis/search-table.gz',
    'GET analysis/summary.json',
    'GET commits/{sha}.json × 2',
    'GET commits/{sha}.parts.json',
    'GET commits?list=1',
    'GET corrections.json',
    'GET project/{repository}.git.tar',
    'GET refs/heads/{name}.json × 2',
    'GET stage/{path}?list=1 × 2',
    'GET stage?list=1',
    'HEAD refs/heads/{name}.json',
    'POST /v1/tokens',
    'POST analysis/files.json?rename=1',
    'POST analysis/outline.json?rename=1',
    'POST analysis/search-pages?rename=1',
    'POST analysis/search-table.gz?rename=1',
    'POST project/{repository}.git.tar?rename=1',
    'PUT .handoff-marker',
    'PUT README.md',
    'PUT analysis/code-summary.md',
    'PUT analysis/handoff.json',
    'PUT analysis/notes.json',
    'PUT analysis/summary.json',
    'PUT commits/{run}.sealing.json',
    'PUT commits/{sha}.json',
    'PUT commits/{sha}.parts.json',
    'PUT refs/heads/{name}.json',
    'PUT stage/.handoff-marker',
  ])
  expect(inside).toEqual([
    'GET stage/.handoff-marker',
    'GET stage?list=1',
    'HEAD stage',
    'POST stage/analysis?mkdir=1',
    'POST stage/project?mkdir=1',
    'PUT stage/analysis/files.json',
    'PUT stage/analysis/outline.json',
    'PUT stage/analysis/search-pages',
    'PUT stage/analysis/search-table.gz',
    'PUT stage/project/{repository}.git.tar',
  ])
  expect(sandboxes).toEqual([
    'DELETE /sandboxes/{id}',
    'POST /process.Process/Start',
    'POST /v2/sandboxes',
    'PUT /sandboxes/{id}/network',
  ])
  expect(model).toBe(1)
  // Each artifact leaves the sandbox once.
  const stored = run.handoff.artifacts.filter(({ path }) => /^project|(files|outline)\.json$|search/.test(path))
  const bytes = (sizes: number[]) => sizes.reduce((sum, size) => sum + size, 0)
  expect(bytes(sent.map(({ body }) => body.length))).toBe(bytes(stored.map((artifact) => artifact.bytes)))
})

test('a question, and the same question again', async () => {
  const first = await countedBy(() => ask('How is the token refreshed?'))
  expect(first.host).toEqual([
    'DELETE /v1/tokens/{id}',
    'GET analysis/code-summary.md',
    'GET analysis/handoff.json',
    'GET analysis/qa/{id}.json',
    'GET analysis/qa?list=1',
    'GET commits/{sha}.json',
    'GET corrections.json',
    'HEAD analysis/qa-response.md',
    'POST /v1/tokens',
    'PUT analysis/qa-response.md',
    'PUT analysis/qa/{id}.json × 2',
  ])
  expect(first.sandboxes).toEqual(['DELETE /sandboxes/{id}', 'POST /process.Process/Start', 'POST /v2/sandboxes'])
  expect(first.model).toBe(2)
  const again = await countedBy(() => ask('How is the token refreshed?'))
  expect(again).toMatchObject({ inside: [], sandboxes: [], model: 0 })
  expect(again.host).toEqual([
    'GET analysis/handoff.json',
    'GET analysis/qa/{id}.json',
    'GET commits/{sha}.json',
    'GET corrections.json',
  ])
})
