// Finds out which parameters a service accepts. Reasoning models want another name for the limit and no temperature. Some servers do not know
// `stream_options` or `reasoning_effort`. Each has a longest reply. The client remembers every refusal.
import type OpenAI from 'openai'
import { type Effort, refusesOldParameters } from '../../domain/model-limits.js'
import type { ModelRequest } from '../../domain/ports.js'

export type Parameters = OpenAI.Chat.ChatCompletionCreateParamsStreaming

type OptionalParameter = 'max_tokens' | 'temperature' | 'stream_options' | `reasoning_effort ${Effort}`

/** Options of a request beside its messages. */
interface ReplyOptions {
  /** Limit of the reply in tokens. */
  limit: number
  effort: Effort | undefined
}

interface ParameterMemory {
  /** Calls `attempt` with the parameters that this service accepts, and again with fewer when it refuses one. */
  ask<T>(request: ModelRequest, wanted: ReplyOptions, attempt: (parameters: Parameters) => Promise<T>): Promise<T>
}

export function createParameterMemory(model: string): ParameterMemory {
  // The model's name saves two refusals.
  const refused = new Set<OptionalParameter>(refusesOldParameters(model) ? ['max_tokens', 'temperature'] : [])
  let longestReply = Number.POSITIVE_INFINITY

  return {
    async ask(request, wanted, attempt) {
      const omitted = new Set(refused)
      let limit = Math.min(wanted.limit, longestReply)
      for (;;) {
        try {
          const result = await attempt(parametersFor(model, request, { ...wanted, limit }, omitted))
          for (const parameter of omitted) refused.add(parameter)
          if (limit < wanted.limit) longestReply = limit
          return result
        } catch (error) {
          const shorter = shorterLimit(error, limit)
          if (shorter === undefined) omitted.add(parameterToOmit(error, omitted, wanted.effort))
          limit = shorter ?? limit
        }
      }
    },
  }
}

function parametersFor(
  model: string,
  request: ModelRequest,
  { limit, effort }: ReplyOptions,
  omitted: Set<OptionalParameter>,
): Parameters {
  return {
    model,
    // Some services refuse a request with a lone surrogate.
    messages: request.messages.map(({ role, content }) => ({ role, content: content.toWellFormed() })),
    stream: true,
    ...(omitted.has('stream_options') ? {} : { stream_options: { include_usage: true } }),
    ...(omitted.has('temperature') ? {} : { temperature: 0 }),
    ...(effort === undefined || omitted.has(`reasoning_effort ${effort}`) ? {} : { reasoning_effort: effort }),
    ...(omitted.has('max_tokens') ? { max_completion_tokens: limit } : { max_tokens: limit }),
  }
}

interface Refusal {
  status?: number
  code?: unknown
  param?: unknown
  message?: string
}

/** The service's message about parameters; undefined for other errors. */
function parameterRefusal(error: unknown): { message: string; code: string } | undefined {
  const { status, code, param, message } = error as Refusal
  if (status !== 400 && status !== 422) return undefined
  return { message: `${String(param ?? '')} ${message ?? ''}`, code: String(code) }
}

/** The limit that a message such as "max_tokens is too large: 20000. This model supports at most 16384" names. */
function shorterLimit(error: unknown, limit: number): number | undefined {
  const { message } = parameterRefusal(error) ?? {}
  if (message === undefined || !/max_(completion_|output_)?tokens/.test(message)) return undefined
  if (!/too (large|high)|at most|maximum|exceed|less than|<=|range/i.test(message) || /context/i.test(message))
    return undefined
  const numbers = [...message.matchAll(/\d[\d,]*/g)].map(([digits]) => Number(digits.replaceAll(',', '')))
  const accepted = Math.max(0, ...numbers.filter((number) => number < limit))
  return accepted >= 16 ? accepted : undefined
}

/** The parameter to omit after this refusal. Throws the error when no omission helps. Each is omitted once, so the loop ends. */
function parameterToOmit(
  error: unknown,
  omitted: Set<OptionalParameter>,
  effort: Effort | undefined,
): OptionalParameter {
  const { message, code } = parameterRefusal(error) ?? {}
  if (message === undefined || /context.{0,20}(length|size)|too (long|large)/i.test(`${code} ${message}`)) throw error
  const sent: OptionalParameter[] = [
    'max_tokens',
    'temperature',
    ...(effort ? [`reasoning_effort ${effort}` as const] : []),
  ]
  const named = [...sent, 'stream_options' as const].find((parameter) => message.includes(parameter.split(' ')[0]!))
  // Strict servers refuse an unknown parameter without naming it. These are the ones that some do not know.
  const candidates = named === undefined ? [...sent.slice(2), 'stream_options' as const] : [named]
  const next = candidates.find((parameter) => !omitted.has(parameter))
  if (next === undefined) throw error
  return next
}
