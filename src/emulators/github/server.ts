// The local GitHub: a real HTTP server that answers as api.github.com (or an Enterprise Server) does, as far as the product asks it, and is no
// kinder: it checks tokens and their permissions, sizes and rates, hides what a token may not see, and remembers everything that was written.
//
// GitHub's own description judges every request and every reply. `unexpected` holds each request that GitHub does not have, that breaks the
// description or that is not imitated here, and each reply that GitHub would not give: a test ends by looking there.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { json, type LocalServer, type RecordedRequest, type Reply, startServer } from '../faulty-server.js'
import { type App, verifyAppJwt } from './apps.js'
import { fillRequiredProperties } from './fill-reply.js'
import * as stock from './fixtures.js'
import { jobClaims, makeOidc, type Oidc } from './oidc.js'
import { loadDescription } from './openapi-description.js'
import { authenticate, checkPermissions } from './permissions.js'
import { makeRateLimits, type RateLimitOptions, type RateLimits } from './rate-limits.js'
import { errorReply, notFound, type RequestContext, validationError } from './request-context.js'
import { findRoute, type Route, routes } from './routes.js'
import {
  caseFoldedName,
  ensureUser,
  type GitHubState,
  makeGitHubState,
  type Repository,
  type StoredComment,
  type Token,
} from './state.js'
import { makeUserFlow, type UserFlow, verifyClient } from './user-flow.js'
import { deliver, makeCommentEvent, type WebhookEvent } from './webhook-events.js'

interface GitHubOptions {
  port?: number
  /** `/api/v3` for an Enterprise Server; nothing for api.github.com. */
  basePath?: string
  limits?: RateLimitOptions
  /** What our App was given; enough for a conversation when absent. */
  appPermissions?: App['permissions']
  /** Where its repositories are cloned from, for a product that knows one address for both. */
  gitUrl?: string
}

export interface LocalGitHub extends stock.Fixtures, AsyncDisposable {
  /** Where people look: the `serverUrl` of our line. */
  url: string
  apiUrl: string
  server: LocalServer
  /** Requests that GitHub would refuse or that are not imitated, as `GET /path`, and replies that GitHub would not give, each with the reason. */
  unexpected: string[]
  /** Every comment there ever was, in the order of their making, deleted ones too. */
  comments: StoredComment[]
  /** What people see now. */
  visibleComments(repository: Repository, number: number): StoredComment[]
  /** Who stands under a comment with what, as `login:content`. */
  reactionsOf(comment: StoredComment): string[]
  /** What a workflow finds in its event file, and a webhook in its body, when this comment is made (or edited, …). */
  eventOf(comment: StoredComment, action?: string): WebhookEvent
  /** Brings an event to a webhook as GitHub does: signed with the secret. The same `delivery` again is a redelivery. */
  deliver(url: string, event: WebhookEvent, options: { secret: string; delivery?: string }): Promise<Response>
  limits: RateLimits
  app: App
  /** How people authorize the App. */
  userFlow: UserFlow
  oidc: Oidc
  /** Makes the runner's job one of this repository. */
  runJob(repository: Repository, job?: { ref?: string; sha?: string; event?: string }): void
  close(): Promise<void>
}

export async function startGitHub(options: GitHubOptions = {}): Promise<LocalGitHub> {
  const state = makeGitHubState()
  const basePath = options.basePath ?? ''
  const limits = makeRateLimits(options.limits ?? {})
  const app = makeApp(state, options.appPermissions)
  const users = makeUserFlow(state, app)
  const table = routes(app, users.flow)
  const unexpected: string[] = []
  let oidc: ReturnType<typeof makeOidc>

  const server = await startServer(
    'github',
    (request) => {
      return oidc.reply(request) ?? users.reply(request) ?? gitReply(options.gitUrl, request) ?? answer(request)
    },
    options.port === undefined ? {} : { port: options.port },
  )
  state.serverUrl = server.url
  state.apiUrl = `${server.url}${basePath}`
  oidc = makeOidc(server.url)

  async function answer(request: RecordedRequest): Promise<Reply> {
    const url = new URL(request.path, server.url)
    const path = stripBasePath(url.pathname, basePath)
    const described = path === null || path === '/graphql' ? null : await findOperation(request.method, path)
    if (path !== '/graphql' && described === null) {
      unexpected.push(`${request.method} ${url.pathname}: GitHub does not have this`)
      return notFound()
    }
    const found = findRoute(table, request.method, path!)
    if (!found) {
      unexpected.push(`${request.method} ${url.pathname}: not imitated`)
      return json(501, { message: `The local GitHub does not imitate ${request.method} ${url.pathname}` })
    }
    const asked = { url, request, wrong: described?.wrongRequest(url, request) ?? [] }
    unexpected.push(...asked.wrong.map((why) => `${request.method} ${url.pathname}: ${why}`))
    const reply = limits.admit(request) ?? (await serve(found.route, found.parameters, asked))
    const said = described ? described.completed(reply) : { reply, wrong: [] }
    if (said.wrong.length > 0) {
      const message = `The local GitHub answers ${request.method} ${url.pathname} as GitHub would not: ${said.wrong.join('; ')}`
      unexpected.push(message)
      return json(500, { message })
    }
    return { ...said.reply, headers: { ...limits.headers(), ...said.reply.headers } }
  }

  async function serve(route: Route, parameters: Record<string, string>, asked: ReceivedRequest) {
    const { url, request, wrong } = asked
    if (!request.headers['user-agent']) return errorReply(403, 'Request forbidden by administrative rules.')
    const authorization = request.headers['authorization']
    const token = authorize(route, authorization)
    if (token !== null && 'status' in token) return token
    const body = parseBody(request)
    if (body === null) return errorReply(400, 'Problems parsing JSON')
    const context = makeRequestContext(state, { request, parameters, query: url.searchParams, body, token })
    if (context === null) return notFound()
    const refused = checkRoutePermissions(route, context)
    if (refused) return refused
    return wrong.length > 0 ? replyToInvalidRequest(wrong) : await route.answer(context)
  }

  function authorize({ by }: Route, authorization: string | undefined) {
    if (by === 'app') return verifyAppJwt(app, authorization)
    return by === 'client' ? verifyClient(users.flow, authorization) : authenticate(state, authorization)
  }

  return {
    ...stock.makeFixtures(state),
    url: server.url,
    apiUrl: state.apiUrl,
    server,
    unexpected,
    comments: state.comments,
    visibleComments: (repository, number) =>
      state.comments.filter((one) => one.repository === repository && one.number === number && !one.deleted),
    reactionsOf: (comment) =>
      comment.reactions.filter((one) => !one.removed).map((one) => `${one.user.login}:${one.content}`),
    eventOf: (comment, action = 'created') => makeCommentEvent(state, comment, action),
    deliver,
    limits: limits.controls,
    app,
    userFlow: users.flow,
    oidc,
    runJob(repository, job = {}) {
      const { ref = 'refs/heads/main', sha = '0'.repeat(40), event = 'push' } = job
      Object.assign(oidc.claims, jobClaims(repository, { ref, sha, event, actorId: repository.owner.id }))
    },
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

/** Clones and fetches, passed on. */
function gitReply(gitUrl: string | undefined, { method, path, headers, body }: RecordedRequest) {
  if (gitUrl === undefined || !/^\/[^/]+\/[^/]+\.git\//.test(path)) return undefined
  return passOn(`${gitUrl}${path}`, { method, headers, ...(body.length > 0 ? { body } : {}) })
}

async function passOn(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: Buffer },
): Promise<Reply> {
  const {
    host: _host,
    connection: _connection,
    'content-length': _length,
    'transfer-encoding': _coding,
    ...sent
  } = headers
  const response = await fetch(url, { method, headers: sent, ...(body ? { body: new Uint8Array(body) } : {}) })
  const type = response.headers.get('content-type')
  return {
    status: response.status,
    headers: type ? { 'content-type': type } : {},
    body: new Uint8Array(await response.arrayBuffer()),
  }
}

/** The path below the API's address; GraphQL stands beside `/v3`. */
function stripBasePath(path: string, basePath: string): string | null {
  const graphql = `${basePath.replace(/\/v3$/, '')}/graphql`
  if (path === graphql) return '/graphql'
  if (path === `${basePath}/graphql`) return null
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : null
}

function parseBody(request: RecordedRequest): Record<string, unknown> | null {
  if (request.body.length === 0) return {}
  try {
    const value: unknown = JSON.parse(request.body.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

interface ReceivedRequest {
  url: URL
  request: RecordedRequest
  /** What GitHub's description has against the request. */
  wrong: string[]
}

/** An invalid path parameter gives 404; any other error gives a validation error with the reasons. */
function replyToInvalidRequest(wrong: string[]): Reply {
  if (wrong.some((why) => why.startsWith('path '))) return notFound()
  return validationError('Request', 'request', wrong.join('; '))
}

/** Null for a request that GitHub does not have. */
async function findOperation(method: string, path: string) {
  const description = await loadDescription()
  const operation = description.find(method, path)
  if (!operation) return null
  return {
    wrongRequest(url: URL, request: RecordedRequest): string[] {
      const body = parseBody(request)
      // What cannot be parsed is refused before it is looked at.
      if (body === null) return []
      const sent = request.body.length === 0 ? undefined : body
      return operation.requestProblems({ query: url.searchParams, headers: request.headers, body: sent })
    },
    completed(reply: Reply): { reply: Reply; wrong: string[] } {
      const { status, body } = reply
      const said = body === undefined ? undefined : (JSON.parse(String(body)) as unknown)
      const schema = status < 300 ? operation.replySchema(status) : undefined
      const whole = schema ? fillRequiredProperties(description, schema, said) : said
      const wrong = operation.replyProblems(status, whole)
      return { reply: schema ? { ...reply, body: JSON.stringify(whole) } : reply, wrong }
    },
  }
}

type RequestParts = Omit<RequestContext, 'state' | 'repository' | 'token'> & { token: Token | null }

/** Null when the path names a repository that is not there. */
function makeRequestContext(state: GitHubState, parts: RequestParts): RequestContext | null {
  const { owner, name } = parts.parameters
  const inRepository = owner !== undefined && name !== undefined
  const repository = inRepository ? state.repositories.get(caseFoldedName(`${owner}/${name}`)) : undefined
  if (inRepository && !repository) return null
  return { ...parts, state, repository, token: parts.token } as RequestContext
}

function checkRoutePermissions(route: Route, context: RequestContext): Reply | null {
  return route.need ? checkPermissions(context, route.need(context)) : null
}

// Generating a key takes a tenth of a second. All Apps of a process share one key, which is generated on first use.
let sharedKey: ReturnType<typeof generateKey> | undefined

const generateKey = () => generateKeyPairSync('rsa', { modulusLength: 2_048 })

function appKey() {
  sharedKey ??= generateKey()
  return sharedKey
}

function makeApp(state: GitHubState, permissions: App['permissions'] | undefined): App {
  const slug = `handoff-${randomBytes(3).toString('hex')}`
  return {
    id: '4242',
    slug,
    get privateKey() {
      return appKey().privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
    },
    get publicKey() {
      return appKey().publicKey
    },
    bot: ensureUser(state, `${slug}[bot]`),
    permissions: permissions ?? { contents: 'read', issues: 'write', pull_requests: 'write' },
  }
}
