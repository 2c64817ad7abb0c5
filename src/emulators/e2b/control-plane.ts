// The control plane: machines are made, found, kept, stopped and ended here, and templates built.
import { randomUUID } from 'node:crypto'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { type Account, checkLifetime, checkNetwork, checkOptions, checkRoom } from './account.js'
import { Refusal, readJson } from './connect-protocol.js'
import { publish, registerWebhook, removeWebhook, type WebhookDesk } from './lifecycle-webhooks.js'
import {
  endSandbox,
  type KillReason,
  type LocalSandbox,
  type NetworkRules,
  openSandbox,
  setDeadline,
} from './sandbox.js'
import {
  describeTemplate,
  findTemplate,
  isReady,
  nameTemplate,
  reportBuild,
  requestBuild,
  startBuild,
  type TemplateShelf,
} from './templates.js'

export interface Cloud {
  account: Account
  apiKeys: readonly string[]
  /** Prefix of each sandbox id, unique to this emulator. */
  prefix: string
  directory: string
  searchPath: string
  baseSearchPath: (sandboxDirectory: string) => string
  environment: Record<string, string>
  sandboxes: LocalSandbox[]
  shelf: TemplateShelf
  webhooks: WebhookDesk
}

/** Reported to clients, who decide by it what they may ask of envd. */
const envdVersion = '0.6.13'

type Route = [method: string, path: RegExp, serve: (context: Context) => Promise<Reply> | Reply]

interface Context {
  cloud: Cloud
  request: RecordedRequest
  query: URLSearchParams
  /** What the parentheses of the route's path matched. */
  first: string
  second: string
}

const routes: Route[] = [
  ['POST', /^(?:\/v2)?\/sandboxes$/, create],
  ['GET', /^\/v2\/sandboxes$/, list],
  ['GET', /^\/sandboxes\/([^/]+)$/, (context) => json(200, detail(present(context)))],
  ['DELETE', /^\/sandboxes\/([^/]+)$/, end],
  ['POST', /^\/sandboxes\/([^/]+)\/timeout$/, extend],
  ['POST', /^(?:\/v2)?\/sandboxes\/([^/]+)\/connect$/, connect],
  ['PUT', /^\/sandboxes\/([^/]+)\/network$/, changeNetwork],
  ['POST', /^\/events\/webhooks$/, ({ cloud, request }) => registerWebhook(cloud.webhooks, request)],
  ['DELETE', /^\/events\/webhooks\/([^/]+)$/, ({ cloud, first }) => removeWebhook(cloud.webhooks, first)],
  ['POST', /^\/v3\/templates$/, ({ cloud, request }) => requestBuild(cloud.shelf, readJson(request))],
  [
    'POST',
    /^\/v2\/templates\/([^/]+)\/builds\/([^/]+)$/,
    ({ cloud, first, second, request }) => startBuild(cloud.shelf, first, second, readJson(request)),
  ],
  [
    'GET',
    /^\/templates\/([^/]+)\/builds\/([^/]+)\/status$/,
    ({ cloud, first, second, query }) => reportBuild(cloud.shelf, first, second, Number(query.get('logsOffset') ?? 0)),
  ],
  ['GET', /^\/templates\/aliases\/([^/]+)$/, ({ cloud, first }) => nameTemplate(cloud.shelf, first)],
  ['GET', /^\/templates\/([^/]+)$/, ({ cloud, first }) => describeTemplate(cloud.shelf, first)],
]

export async function serveControl(cloud: Cloud, request: RecordedRequest): Promise<Reply> {
  const { pathname, searchParams: query } = new URL(request.path, 'http://cloud')
  const key = request.headers['x-api-key']
  if (!key || !cloud.apiKeys.includes(key)) throw new Refusal(401, 'Invalid API key')
  for (const [method, path, serve] of routes) {
    const match = request.method === method && path.exec(pathname)
    if (!match) continue
    const [first = '', second = ''] = match.slice(1).map(decodeURIComponent)
    return serve({ cloud, request, query, first, second })
  }
  throw new Refusal(501, `the local cloud does not know ${request.method} ${pathname}`)
}

function create({ cloud, request }: Context): Reply {
  const body = readJson(request)
  checkOptions(body)
  if (body['autoPause'] === true) throw new Refusal(501, 'the local cloud does not pause sandboxes')
  const name = String(body['templateID'] ?? '')
  const template = findTemplate(cloud.shelf, name)
  if (!template) throw new Refusal(404, `template '${name}' not found`)
  if (!isReady(template)) throw new Refusal(404, `template '${name}' (${template.id}) has no ready build`)
  const seconds = checkLifetime(cloud.account, body['timeout'])
  const network = checkNetwork(cloud.account, networkOf(body))
  checkRoom(cloud.account, cloud.sandboxes.filter(({ state }) => state === 'running').length)
  const id =
    cloud.prefix +
    randomUUID()
      .replaceAll('-', '')
      .slice(0, 20 - cloud.prefix.length)
  const directory = `${cloud.directory}/${id}`
  const specification = {
    id,
    template: name,
    directory,
    searchPath: template === cloud.shelf.base ? cloud.baseSearchPath(directory) : cloud.searchPath,
    metadata: (body['metadata'] ?? {}) as Record<string, string>,
    environment: { ...cloud.environment, ...((body['envVars'] ?? {}) as Record<string, string>) },
    network,
    ended: (reason: KillReason) => publish(cloud.webhooks, 'killed', sandbox, reason),
  }
  const sandbox: LocalSandbox = openSandbox(specification, seconds)
  cloud.sandboxes.push(sandbox)
  publish(cloud.webhooks, 'created', sandbox)
  return json(201, summary(sandbox))
}

function networkOf(body: Record<string, unknown>): unknown {
  const closed = body['allow_internet_access'] === false
  return closed ? { ...(body['network'] as object | undefined), allow_internet_access: false } : body['network']
}

/** The machine a request names; the others answer as if they had never been. */
function present({ cloud, first }: Context): LocalSandbox {
  const sandbox = cloud.sandboxes.find(({ id, state }) => id === first && state !== 'gone')
  if (sandbox) return sandbox
  throw new Refusal(404, `Sandbox "${first}" doesn't exist or you don't have access to it`)
}

async function end(context: Context): Promise<Reply> {
  await endSandbox(present(context), 'killed')
  return { status: 204 }
}

function extend(context: Context): Reply {
  const seconds = checkLifetime(context.cloud.account, readJson(context.request)['timeout'])
  setDeadline(present(context), seconds)
  publish(context.cloud.webhooks, 'updated', present(context))
  return { status: 204 }
}

/** The time of a running sandbox only becomes more. */
function connect(context: Context): Reply {
  const sandbox = present(context)
  const seconds = checkLifetime(context.cloud.account, readJson(context.request)['timeout'])
  if (Date.now() + seconds * 1000 > sandbox.endsAt.getTime()) setDeadline(sandbox, seconds)
  return json(200, summary(sandbox))
}

function changeNetwork(context: Context): Reply {
  const sandbox = present(context)
  const rules: NetworkRules = checkNetwork(context.cloud.account, readJson(context.request)) ?? {}
  sandbox.networks.push(rules)
  publish(context.cloud.webhooks, 'updated', sandbox)
  return { status: 204 }
}

const pageSize = 100

function list({ cloud, query }: Context): Reply {
  const ascending = query.get('order') === 'asc'
  const found = cloud.sandboxes.filter((sandbox) => sandbox.state !== 'gone' && isWanted(sandbox, query))
  if (!ascending) found.reverse()
  const limit = Math.min(Number(query.get('limit') ?? pageSize), pageSize)
  const from = found.findIndex(({ id }) => id === query.get('nextToken')) + 1
  const page = found.slice(from, from + limit)
  const more = from + limit < found.length ? { 'x-next-token': page.at(-1)?.id ?? '' } : {}
  return json(200, page.map(detail), more)
}

function isWanted(sandbox: LocalSandbox, query: URLSearchParams): boolean {
  const states = query.get('state')?.split(',')
  const since = query.get('startedAfter')
  const template = query.get('template')
  // Each key and value is encoded once for itself and once more as a query.
  const wanted = [...new URLSearchParams(query.get('metadata') ?? '')].map((pair) => pair.map(decodeURIComponent))
  return (
    (!states || states.includes(sandbox.state)) &&
    (!since || sandbox.createdAt > new Date(since)) &&
    (!template || sandbox.template === template) &&
    wanted.every(([key = '', value]) => sandbox.metadata[key] === value)
  )
}

function summary({ id, template, accessToken }: LocalSandbox): object {
  return {
    sandboxID: id,
    templateID: template,
    clientID: 'local',
    envdVersion,
    envdAccessToken: accessToken,
    domain: null,
  }
}

function detail(sandbox: LocalSandbox): object {
  const { id, template, metadata, createdAt, endsAt, state, networks } = sandbox
  return {
    sandboxID: id,
    templateID: template,
    alias: template,
    clientID: 'local',
    envdVersion,
    startedAt: createdAt.toISOString(),
    endAt: endsAt.toISOString(),
    state,
    cpuCount: 2,
    memoryMB: 1024,
    diskSizeMB: 10_240,
    metadata,
    network: networks.at(-1),
    lifecycle: { onTimeout: 'kill', autoResume: false },
    volumeMounts: [],
  }
}
