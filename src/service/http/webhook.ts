// What the webhooks have in common.
import type { RequestContext } from './http-function.js'
import { jsonResponse } from './json.js'
import { HttpError } from './problem-details.js'

/** `next` names the settings on both sides. */
export function unsigned(detail: string, next: string): HttpError {
  return new HttpError(401, 'unauthorized', detail, {
    next,
    headers: { 'www-authenticate': 'Signature realm="handoff"' },
  })
}

/** A delivery that needs no work is a success: its sender would repeat it otherwise. */
export function ignored(exchange: RequestContext, why: string): Response {
  exchange.note({ ignored: why })
  return jsonResponse(200, { ignored: why })
}
