// What the local model refuses before it reads a prompt, in the shapes that real services use.
import { json, type Reply } from '../faulty-server.js'
import type { SendingBehaviour } from './behaviour.js'
import { errorReply, invalidRequestReply } from './error-response.js'
import { localModelNamed, type ModelProfile } from './models.js'
import { countPieces, isMessage, type WireRequest } from './parse-prompt.js'
import { fieldRefusal, type SeenFields } from './validate-parameters.js'

/** A request that may be answered, with the model that it names and the tokens of its messages. */
export interface ValidRequest {
  body: WireRequest
  model: ModelProfile
  inputTokens: number
}

interface Limits {
  /** In place of the model's own context. */
  contextTokens: number | undefined
  seen: SeenFields
}

/** The refusal of this request, or what is to be answered. */
export function validateRequest(
  body: WireRequest | undefined,
  bad: SendingBehaviour | undefined,
  { contextTokens, seen }: Limits,
): Reply | ValidRequest {
  const misbehaviour = misbehaved(body, bad)
  if (misbehaviour) return misbehaviour
  if (!body) return invalidRequestReply(400, 'We could not parse the JSON body of your request.', null)
  const named = localModelNamed(body.model)
  if (!named) return unknownModelReply(body.model)
  const model = contextTokens === undefined ? named : { ...named, contextTokens }
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    return invalidRequestReply(
      400,
      "Invalid type for 'messages': expected an array of objects with a role and text.",
      null,
      'messages',
    )
  }
  const inputTokens = countPieces(messages.map((message) => message.content).join('\n'))
  return fieldRefusal(body, model, seen) ?? lengthRefusal(body, model, inputTokens) ?? { body, model, inputTokens }
}

export const unknownModelReply = (name: unknown): Reply =>
  invalidRequestReply(
    404,
    `The model \`${String(name)}\` does not exist or you do not have access to it.`,
    'model_not_found',
  )

/** The service shows the beginning and the end of a key that it does not know. */
export function invalidKeyReply(authorization: string | undefined): Reply {
  const key = authorization?.replace(/^Bearer /, '') ?? ''
  if (key === '') {
    const advice = 'You need to provide your API key in an Authorization header using Bearer auth.'
    return invalidRequestReply(401, `You didn't provide an API key. ${advice}`, null)
  }
  const masked = key.length < 9 ? '*'.repeat(key.length) : `${key.slice(0, 4)}${'*'.repeat(8)}${key.slice(-4)}`
  return invalidRequestReply(401, `Incorrect API key provided: ${masked}.`, 'invalid_api_key')
}

/** OpenAI counts the reply's limit too; llama.cpp (seen with v0.4.0) counts the prompt, and ends the reply where the context ends. */
function lengthRefusal(body: WireRequest, model: ModelProfile, inputTokens: number): Reply | undefined {
  const { contextTokens, tooLong } = model
  if (tooLong === 'refuse-as-llama' && inputTokens >= contextTokens) {
    const message = `request (${inputTokens} tokens) exceeds the available context size (${contextTokens} tokens), try increasing it`
    const numbers = { n_prompt_tokens: inputTokens, n_ctx: contextTokens }
    return json(400, { error: { code: 400, message, type: 'exceed_context_size_error', ...numbers } })
  }
  const output = limitOf(body) ?? 0
  if (tooLong !== 'refuse' || inputTokens + output <= contextTokens) return undefined
  const parts = `(${inputTokens} in the messages, ${output} in the completion)`
  return invalidRequestReply(
    400,
    `This model's maximum context length is ${contextTokens} tokens. However, you requested ${inputTokens + output} tokens ${parts}. Please reduce the length of the messages or completion.`,
    'context_length_exceeded',
    'messages',
  )
}

export const limitOf = (body: WireRequest): number | undefined =>
  body.max_completion_tokens ?? body.max_tokens ?? undefined

function misbehaved(body: WireRequest | undefined, bad: SendingBehaviour | undefined): Reply | undefined {
  switch (bad?.kind) {
    case 'busy':
      return bad.quota
        ? errorReply(429, 'You exceeded your current quota.', {
            type: 'insufficient_quota',
            code: 'insufficient_quota',
          })
        : errorReply(
            429,
            'Rate limit reached.',
            { type: 'requests', code: 'rate_limit_exceeded' },
            after(bad.retryAfter),
          )
    case 'broken':
      return errorReply(
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
  return invalidRequestReply(
    400,
    `Unsupported parameter: '${parameter}' is not supported with this model.${advice}`,
    'unsupported_parameter',
    parameter,
  )
}

const after = (retryAfter: string | undefined): Record<string, string> =>
  retryAfter === undefined ? {} : { 'retry-after': retryAfter }
