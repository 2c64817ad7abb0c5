// Which fields of a request a local model refuses, in the words of the services that do so.
import type { Reply } from '../faulty-server.js'
import { invalidRequestReply } from './error-response.js'
import { type ModelProfile, usualFields } from './models.js'
import type { WireRequest } from './parse-prompt.js'

/** Remembers how often each unsteady field was sent. */
export type SeenFields = Map<string, number>

/** The refusal of one field: services name the first that they do not take. A field that is null counts as absent. */
export function fieldRefusal(body: WireRequest, model: ModelProfile, seen: SeenFields): Reply | undefined {
  const sent = Object.keys(body).filter((field) => body[field] !== null)
  const taken = model.fields ?? usualFields
  const unknown = taken === 'any' ? undefined : sent.find((field) => !taken.includes(field))
  if (unknown !== undefined) return unrecognized(unknown)
  const unsteady = sent.find((field) => field === model.unsteadyField)
  if (unsteady !== undefined) {
    const times = (seen.get(unsteady) ?? 0) + 1
    seen.set(unsteady, times)
    if (times % 2 === 0) return unrecognized(unsteady)
  }
  return limitRefusal(body, model) ?? (model.efforts ? reasoningRefusal(body, model.efforts) : undefined)
}

/** OpenAI names the field in the sentence only. */
const unrecognized = (field: string) =>
  invalidRequestReply(400, `Unrecognized request argument supplied: ${field}`, null)

function limitRefusal(body: WireRequest, model: ModelProfile): Reply | undefined {
  const field = body.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens'
  const limit = body[field] ?? undefined
  if (limit === undefined) return undefined
  if (!Number.isSafeInteger(limit) || limit < 1) {
    return invalidRequestReply(
      400,
      `Invalid '${field}': integer above or equal to 1 expected.`,
      'integer_below_min_value',
      field,
    )
  }
  if (limit <= (model.maxOutputTokens ?? Number.POSITIVE_INFINITY)) return undefined
  const most = `This model supports at most ${model.maxOutputTokens} completion tokens, whereas you provided ${limit}.`
  return invalidRequestReply(400, `${field} is too large: ${limit}. ${most}`, 'invalid_value', field)
}

function reasoningRefusal(body: WireRequest, efforts: readonly string[]): Reply | undefined {
  if (body.max_tokens != null) {
    return invalidRequestReply(
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'unsupported_parameter',
      'max_tokens',
    )
  }
  const { temperature, reasoning_effort: effort } = body
  if (temperature != null && temperature !== 1) {
    const only = `'temperature' does not support ${temperature} with this model. Only the default (1) value is supported.`
    return invalidRequestReply(400, `Unsupported value: ${only}`, 'unsupported_value', 'temperature')
  }
  if (effort == null || efforts.includes(String(effort))) return undefined
  const supported = efforts.map((one) => `'${one}'`).join(', ')
  return invalidRequestReply(
    400,
    `Unsupported value: 'reasoning_effort' does not support '${effort}' with this model. Supported values are: ${supported}.`,
    'unsupported_value',
    'reasoning_effort',
  )
}
