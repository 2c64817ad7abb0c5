// A deployment on loopback for one test file: the local clouds, a git remote with one summarised commit, and the built functions.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { SandboxCloudOptions } from '../../src/emulators/e2b/server.js'
import type { CloudsOptions } from '../../src/emulators/start-all.js'
import { buildFunctions } from '../../src/emulators/vercel/build.js'
import type { SaidDeadline } from '../../src/emulators/vercel/platform.js'
import { type LocalQueues, startQueues } from '../../src/emulators/vercel/queues.js'
import { type RunningFunctions, startFunctions } from '../../src/emulators/vercel/start.js'
import { parseRepository, type Repository } from '../../src/handoff/domain/run.js'
import { type SummariseResult, summarise } from '../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../support/local-stack.js'
import { secretWatch } from '../support/recorded-requests.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { compileCache } from '../support/run-program.js'
import { tokenFiles } from '../support/token-files.js'
import { until } from '../support/until.js'

export const root = join(import.meta.dirname, '../..')
export const name = 'octo/tools'
export const repositoryId = '1001'
export const token = 'token-of-team-a-0123456789'
export const otherToken = 'token-of-team-b-9876543210'
export const webhookSecrets = ['first-webhook-secret-0123', 'second-webhook-secret-456']

const never = new AbortController().signal
export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

declare module 'vitest' {
  interface ProvidedContext {
    /** What the instances of a deployment run; each project of `vitest.config.ts` says which. */
    functions: 'sources' | 'built'
  }
}

export interface Deployment extends AsyncDisposable {
  stack: LocalStack
  repository: TestRepository
  where: Repository
  run: SummariseResult
  /** The environment of an instance. */
  environment: Record<string, string>
  /** The first instance. */
  functions: RunningFunctions
  url: string
  /** One more instance, perhaps with other settings. */
  another(
    environment?: Record<string, string>,
    maxDuration?: number,
    deadline?: SaidDeadline,
  ): Promise<RunningFunctions>
  machines(): number
  living(): number
  /** Where jobs wait, when the instances run as on Vercel. */
  queues: LocalQueues
  /** Requests that any cloud or the git host has seen. */
  reached(): number
  /** Waits until no sandbox lives and these instances, the first one when none is named, have nothing left to do. */
  quiet(...instances: RunningFunctions[]): Promise<unknown>
  close(): Promise<void>
}

export interface DeploymentOptions {
  clouds?: Omit<CloudsOptions, 'sandboxes'>
  sandboxes?: SandboxCloudOptions
  environment?: Record<string, string>
  maxDuration?: number
  /** No instance is started; `functions` must not be used. */
  withoutFunctions?: boolean
  /** The repository's number on its host. */
  repositoryId?: string
  /** The git host, where it is not the git remote: an emulator of GitHub that passes clones on. */
  serverUrl?: string
  /** Each search finds the same, for tests that ask often and do not check the search. */
  quickFinds?: boolean
  /** The instances run as on Vercel: jobs wait in its queues. Else they wait in the memory of each instance. */
  onVercel?: boolean
}

export async function deploy(options: DeploymentOptions = {}): Promise<Deployment> {
  const [repository, queues] = await Promise.all([
    makeRepository(tokenFiles),
    options.onVercel ? startQueues({ root }) : undefined,
  ])
  const stack = await startLocalStack({
    repositories: { [name]: repository.directory },
    clouds: { ...options.clouds, sandboxes: options.sandboxes ?? {} },
    repeated: options.quickFinds ? { searchFor: 'How is the token refreshed?' } : {},
  })
  const serverUrl = options.serverUrl ?? stack.remote.url
  const where = { ...parseRepository(name, new URL(serverUrl).host), id: options.repositoryId ?? repositoryId }
  const commit = {
    repository: where,
    sha: repository.head,
    cloneUrl: stack.remote.cloneUrl(name),
    ref: 'refs/heads/main',
  }
  const run = await summarise({ commit, attempt: 'first' }, stack.context, never)
  const environment = {
    ...stack.clouds.settings,
    DRIVE9_ROOT: '/handoff',
    GITHUB_SERVER_URL: serverUrl,
    GITHUB_API_URL: 'http://127.0.0.1:9',
    HANDOFF_BEARERS: `team-a=${sha256(token)}=octo/tools,+comment; team-b=${sha256(otherToken)}=other/*`,
    ...options.environment,
  }
  for (const secret of webhookSecrets) secretWatch.addSecret('a secret of the webhook', secret)
  for (const [setting, value] of Object.entries(environment))
    if (/(?:KEY|SECRET|TOKEN)$/.test(setting)) secretWatch.addSecret(setting, value)
  const instances: RunningFunctions[] = []
  const fromSources = inject('functions') === 'sources'
  // The hook that deploys has time for a build; a later one may not.
  const built = fromSources ? undefined : await buildFunctions(root)
  const another = async (
    more: Record<string, string> = {},
    maxDuration = options.maxDuration,
    deadline?: SaidDeadline,
  ) => {
    const started = await startFunctions({
      root,
      fromSources,
      ...(built === undefined ? {} : { built }),
      compileCache,
      environment: { ...environment, ...more },
      ...(queues === undefined ? {} : { queues }),
      onOutput: (text) => secretWatch.addText('the log of the functions', text),
      ...(maxDuration === undefined ? {} : { maxDuration }),
      ...(deadline === undefined ? {} : { deadline }),
    })
    instances.push(started)
    return started
  }
  const functions = options.withoutFunctions ? (undefined as unknown as RunningFunctions) : await another()
  const close = async () => {
    // What goes on in the background has a machine perhaps; a platform would let it end, too.
    await until(
      'no sandbox is left',
      () => stack.clouds.sandboxes.sandboxes.every(({ state }) => state === 'gone'),
      20_000,
    )
    await Promise.all(instances.map((one) => one.close()))
    await stack.close()
    await queues?.close()
    await repository[Symbol.asyncDispose]()
  }
  const { clouds, remote } = stack
  return {
    stack,
    repository,
    where,
    run,
    environment,
    functions,
    url: functions?.url ?? '',
    another,
    machines: () => clouds.sandboxes.sandboxes.length,
    living: () => clouds.sandboxes.sandboxes.filter((sandbox) => sandbox.state !== 'gone').length,
    queues: queues as LocalQueues,
    quiet: (...of) =>
      until('the background is quiet', async () => {
        const states = await Promise.all((of.length > 0 ? of : [functions]).map((instance) => instance.state()))
        const isLiving = clouds.sandboxes.sandboxes.some((sandbox) => sandbox.state !== 'gone')
        return !isLiving && states.every(({ pending }) => pending === 0)
      }),
    reached: () =>
      clouds.sandboxes.requests.length +
      clouds.drive.requests.length +
      clouds.model.requests.length +
      remote.requests.length,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Parses the JSON lines of a log. */
export const logged = (functions: RunningFunctions): Record<string, unknown>[] =>
  functions.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))

/** What the log says of a request, once the work behind it is over. */
export async function laterLine(functions: RunningFunctions, requestId: unknown): Promise<Record<string, unknown>> {
  const ofIt = (line: Record<string, unknown>) => line['later'] === true && line['requestId'] === requestId
  return until('the later line', () => logged(functions).find(ofIt), 20_000)
}

export interface Answer {
  status: number
  headers: Headers
  /** Whatever came; looked into as it is. */
  body: ReturnType<typeof JSON.parse>
}

export async function call(
  url: string,
  path: string,
  init: RequestInit & { token?: string | null } = {},
): Promise<Answer> {
  const { token: bearer = token, ...rest } = init
  const headers = new Headers(rest.headers)
  if (bearer !== null && !headers.has('authorization')) headers.set('authorization', `Bearer ${bearer}`)
  const response = await fetch(`${url}${path}`, { ...rest, headers })
  const text = await response.text()
  const isJson = (response.headers.get('content-type') ?? '').includes('json')
  return { status: response.status, headers: response.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
}

export function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  bearer: string | null = token,
): Promise<Answer> {
  return call(url, '/api/ask', {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
    token: bearer,
  })
}

/** The record of a question, as it is stored. */
export const recordPath = ({ run }: Deployment, id: string) => `${run.directory}/analysis/qa/${id}.json`

export function recordOf(deployment: Deployment, id: string): Record<string, unknown> | undefined {
  const bytes = deployment.stack.clouds.drive.readFile(recordPath(deployment, id))
  return bytes && JSON.parse(bytes.toString())
}

/** As if the time of a lease had passed: the process that held the question is dead. */
export function expireLease(deployment: Deployment, id: string): void {
  const leaseUntil = new Date(Date.now() - 1).toISOString()
  const record = { ...recordOf(deployment, id), leaseUntil }
  deployment.stack.clouds.drive.write(recordPath(deployment, id), JSON.stringify(record))
}

export interface ServerEvent {
  event: string
  /** What continues after this event; empty where it has none. */
  id: string
  data: ReturnType<typeof JSON.parse>
  /** Milliseconds after the request. */
  at: number
}

/** Reads a stream of events to its end. */
export async function events(
  url: string,
  body: unknown,
  init: { headers?: Record<string, string>; signal?: AbortSignal; onEvent?: (event: ServerEvent) => void } = {},
): Promise<{ response: Response; events: ServerEvent[] }> {
  const started = Date.now()
  const response = await fetch(`${url}/api/ask`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      authorization: `Bearer ${token}`,
      ...init.headers,
    },
    ...(init.signal ? { signal: init.signal } : {}),
  })
  const found: ServerEvent[] = []
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end)
      text = text.slice(end + 2)
      if (frame.startsWith(':')) continue
      const event = readFrame(frame, Date.now() - started)
      found.push(event)
      init.onEvent?.(event)
    }
  }
  return { response, events: found }
}

function readFrame(frame: string, at: number): ServerEvent {
  const fields = Object.fromEntries(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  return { event: fields['event'] ?? '', id: fields['id'] ?? '', data: JSON.parse(fields['data'] ?? 'null'), at }
}
