// POST /api/sandboxes: E2B reports that a sandbox ended. A question that still needed it is freed. A repeated delivery finds nothing left to free.
import { getApp } from '../app.js'
import type { RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { parseJson, readBody } from '../http/parse-request.js'
import { HttpError } from '../http/problem-details.js'
import { ignored, unsigned } from '../http/webhook.js'

/** The metadata of a sandbox is most of an event. */
const maximumBytes = 64_000
/** E2B repeats a failed delivery for half a minute. */
const windowMs = 300_000

const next = 'Register the webhook at E2B with a secret of HANDOFF_E2B_WEBHOOK_SECRETS.'

export async function postSandboxEvent(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  const { headers } = exchange.request
  const secrets = app.settings.e2bWebhookSecrets
  if (secrets.length === 0) throw unsigned('There is no webhook for E2B here.', next)
  const bytes = await readBody(exchange.request, maximumBytes)
  const product = await app.product()
  const signature = { version: headers.get('e2b-signature-version'), value: headers.get('e2b-signature') }
  if (!product.isSignedByE2b(bytes, signature, secrets))
    throw unsigned('The signature of the delivery is missing or wrong.', next)
  const ended = product.readSandboxEnd(parseJson(bytes))
  if (!ended) return ignored(exchange, 'Only the end of a sandbox matters here.')
  if (Math.abs(Date.now() - Date.parse(ended.at)) > windowMs)
    throw new HttpError(400, 'invalid-input', 'The event did not happen in the last five minutes.')
  const freed = await product.freeAfterSandbox(ended, await app.context(), exchange.signal)
  exchange.note({ freed, reason: ended.reason ?? 'unknown' })
  return jsonResponse(200, { freed })
}
