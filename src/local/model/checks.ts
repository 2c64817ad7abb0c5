// What the local model refuses before it reads a prompt, in the shapes that real services use.
import { json, type Reply } from '../server.js'
import type { SendingBehaviour } from './behaviour.js'
import { isMessage, type Message } from './prompt.js'

export interface WireRequest {
  model?: unknown
  messages: Message[]
  stream?: unknown
  stream_options?: { include_usage?: unknown }
  max_tokens?: number
  max_completion_tokens?: number
  [parameter: string]: unknown
}

interface Limits {
  model: string
  inputTokens: number
  contextTokens: number
}

export function wireError(
  status: number,
  message: string,
  more: { type: string; code: string | null; param?: string },
  headers: Record<string, string> = {},
): Reply {
  return json(status, { error: { message, param: null, ...more } }, headers)
}

const invalid = (status: number, message: string, code: string | null, param?: string) =>
  wireError(status, message, { type: 'invalid_request_error', code, ...(param === undefined ? {} : { param }) })

/** The refusal of this request, or undefined when it may be answered. */
export function refusal(
  body: WireRequest | undefined,
  bad: SendingBehaviour | undefined,
  limits: Limits,
): Reply | undefined {
  return misbehaved(body, bad) ?? malformed(body, limits)
}

function malformed(body: WireRequest | undefined, { model, inputTokens, contextTokens }: Limits): Reply | undefined {
  if (!body) return invalid(400, 'We could not parse the JSON body of your request.', null)
  if (body.model !== model) {
    return invalid(
      404,
      `The model \`${String(body.model)}\` does not exist or you do not have access to it.`,
      'model_not_found',
    )
  }
  if (!Array.isArray(body.messages) || body.messages.length === 0 || !body.messages.every(isMessage)) {
    return invalid(
      400,
      "Invalid type for 'messages': expected an array of objects with a role and text.",
      null,
      'messages',
    )
  }
  const limit = body.max_completion_tokens ?? body.max_tokens
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0)) {
    return invalid(400, "Invalid 'max_tokens': integer above or equal to 1 expected.", null, 'max_tokens')
  }
  if (inputTokens + (limit ?? 0) > contextTokens) {
    return invalid(
      400,
      `This model's maximum context length is ${contextTokens} tokens, however you requested ${inputTokens + (limit ?? 0)}.`,
      'context_length_exceeded',
      'messages',
    )
  }
  return undefined
}

function misbehaved(body: WireRequest | undefined, bad: SendingBehaviour | undefined): Reply | undefined {
  switch (bad?.kind) {
    case 'busy':
      return bad.quota
        ? wireError(429, 'You exceeded your current quota.', { type: 'insufficient_quota', code: 'insufficient_quota' })
        : wireError(
            429,
            'Rate limit reached.',
            { type: 'requests', code: 'rate_limit_exceeded' },
            after(bad.retryAfter),
          )
    case 'broken':
      return wireError(
        bad.status ?? 500,
        'The server had an error.',
        { type: 'server_error', code: null },
        after(bad.retryAfter),
      )
    case 'html':
      return {
        status: 200,
        headers: { 'content-type': 'text/html' },
        body: '<!doctype html><title>Welcome</title><h1>It works!</h1>',
      }
    case 'error-with-200':
      return json(200, { error: { message: 'The engine is not loaded.', type: 'server_error', code: 500 } })
    case 'refuse':
      return body && bad.parameter in body ? refusedParameter(bad.parameter, bad.unnamed === true) : undefined
    default:
      return undefined
  }
}

function refusedParameter(parameter: string, unnamed: boolean): Reply {
  if (unnamed) return json(400, { detail: 'Extra inputs are not permitted' })
  const advice = parameter === 'max_tokens' ? " Use 'max_completion_tokens' instead." : ''
  return invalid(
    400,
    `Unsupported parameter: '${parameter}' is not supported with this model.${advice}`,
    'unsupported_parameter',
    parameter,
  )
}

const after = (retryAfter: string | undefined): Record<string, string> =>
  retryAfter === undefined ? {} : { 'retry-after': retryAfter }
