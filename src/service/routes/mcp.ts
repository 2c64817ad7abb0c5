// POST /api/mcp: the Model Context Protocol, stateless, for clients of 2026-07-28 and of earlier revisions. GET serves its metadata (RFC 9728).
import { type App, getApp } from '../app.js'
import { authenticate } from '../auth/authenticate.js'
import { serviceSettings } from '../define-function.js'
import type { RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { HttpError } from '../http/problem-details.js'
import type { McpSession } from '../mcp/session.js'
import type { ServiceSettings } from '../settings.js'

const maximumBytes = 200_000
const metadataPath = '/.well-known/oauth-protected-resource'

export async function postMcp(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  const { request, url } = exchange
  refuseForeignPages(request, url, app.settings)
  const caller = await authenticate(request, app, `${url.origin}${metadataPath}/api/mcp`)
  exchange.note({ caller: caller.name })
  const [{ createMcpHandler }, { createMcpServer }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('../mcp/server.js'),
  ])
  const { session, ended } = sessionOf(exchange, app, caller)
  const handler = createMcpHandler(() => createMcpServer(session), { maxRequestBodySize: maximumBytes })
  const response = await handler.fetch(request)
  exchange.logAfter(ended())
  return response
}

function sessionOf(exchange: RequestContext, app: App, caller: McpSession['caller']) {
  const count = countCalls()
  const calls: Promise<unknown>[] = []
  const session: McpSession = {
    app,
    caller,
    async run(call) {
      count()
      const running = call(exchange)
      const over = running.then(
        () => undefined,
        () => undefined,
      )
      calls.push(over)
      exchange.background(over)
      return running
    },
  }
  return { session, ended: () => Promise.all(calls) }
}

const mostCalls = 20

/** A request in the older form can hold a list of calls. */
function countCalls(): () => void {
  let calls = 0
  return () => {
    calls += 1
    if (calls <= mostCalls) return
    throw new HttpError(400, 'invalid-input', `A request may hold ${mostCalls} calls.`, {
      next: 'Send them one by one.',
    })
  }
}

/**
 * A page in a browser must not reach a server of its user's network under a name that its owner points there (DNS rebinding). Vercel routes only
 * the names of a deployment to it.
 */
function refuseForeignPages(request: Request, url: URL, { queue, hosts, corsOrigins }: ServiceSettings): void {
  const name = url.hostname.toLowerCase()
  if (queue !== 'vercel' && !isAddress(name) && !hosts.includes(name)) {
    throw new HttpError(403, 'forbidden', `This server does not answer as ${name.slice(0, 100)}.`, {
      next: 'Add the name to HANDOFF_HOSTS.',
    })
  }
  const origin = request.headers.get('origin')
  if (origin === null || origin === url.origin || corsOrigins.includes(origin)) return
  throw new HttpError(403, 'forbidden', 'Pages of this origin may not ask here.', {
    next: 'Add the origin to HANDOFF_CORS_ORIGINS.',
  })
}

/** No foreign owner can point an address, or the name of the machine itself, elsewhere. */
const isAddress = (name: string) => name === 'localhost' || /^(?:[\d.]+|\[[\da-f:.]+\])$/.test(name)

export function getMcp({ url }: RequestContext): Response {
  if (!url.pathname.startsWith(metadataPath) && url.searchParams.get('part') !== 'metadata') {
    throw new HttpError(405, 'method-not-allowed', 'This address takes POST.', { headers: { allow: 'POST, OPTIONS' } })
  }
  const { signIn, github } = serviceSettings()
  const metadata = {
    resource: `${url.origin}/api/mcp`,
    resource_name: 'handoff',
    // As GitHub describes itself at /.well-known/oauth-authorization-server/login/oauth.
    ...(signIn === undefined ? {} : { authorization_servers: [`${github.serverUrl}/login/oauth`] }),
    bearer_methods_supported: ['header'],
  }
  return jsonResponse(200, metadata, { 'cache-control': 'public, max-age=3600' })
}
