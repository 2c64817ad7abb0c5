// POST /api/ask: answers a question as JSON, as an event stream, or later (202).
import { getApp } from '../app.js'
import { authenticate } from '../auth/authenticate.js'
import type { RequestContext } from '../http/http-function.js'
import { negotiate, parseJson, readBody, wantJsonBody } from '../http/parse-request.js'

/** A question has at most 4,000 characters, and the other fields are short. */
const maximumBytes = 100_000

export async function postAsk(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  const { request } = exchange
  const caller = await authenticate(request, app)
  exchange.note({ caller: caller.name })
  const mode = negotiate(request)
  exchange.note({ mode })
  wantJsonBody(request)
  const body = parseJson(await readBody(request, maximumBytes))
  // A refusal needs none of the product.
  const { respond } = await import('../ask/respond.js')
  return respond(exchange, app, caller, mode, body)
}
