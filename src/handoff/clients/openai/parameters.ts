// Which parameters a service takes. They all speak the same protocol and differ in what they refuse: reasoning models want another name
// for the limit and no temperature, some servers do not know `stream_options` or `reasoning_effort`, each has a longest reply. A refusal
// teaches, and is remembered as long as the client lives.
import type OpenAI from 'openai'
import { type Effort, refusesOldParameters } from '../../domain/model-limits.js'
import type { ModelRequest } from '../../domain/ports.js'

export type Parameters = OpenAI.Chat.ChatCompletionCreateParamsStreaming

type Habit = 'max_tokens' | 'temperature' | 'stream_options' | `reasoning_effort ${Effort}`

/** What a request asks for beside its messages. */
export interface Wanted {
  /** Tokens that the reply may have in all. */
  limit: number
  effort: Effort | undefined
}

export interface Habits {
  /** Calls `attempt` with the parameters that this service is known to take, and again with fewer when it refuses one by name. */
  ask<T>(request: ModelRequest, wanted: Wanted, attempt: (parameters: Parameters) => Promise<T>): Promise<T>
}

export function makeHabits(model: string): Habits {
  // To know it from the name saves two refusals.
  const refused = new Set<Habit>(refusesOldParameters(model) ? ['max_tokens', 'temperature'] : [])
  let longestReply = Number.POSITIVE_INFINITY

  async function ask<T>(
    request: ModelRequest,
    wanted: Wanted,
    attempt: (parameters: Parameters) => Promise<T>,
  ): Promise<T> {
    const left = new Set(refused)
    let limit = Math.min(wanted.limit, longestReply)
    for (;;) {
      try {
        const result = await attempt(parametersFor(model, request, { ...wanted, limit }, left))
        for (const habit of left) refused.add(habit)
        if (limit < wanted.limit) longestReply = limit
        return result
      } catch (error) {
        const shorter = shorterLimit(error, limit)
        const lesson = shorter === undefined ? lessonOf(error, left, wanted.effort) : undefined
        if (shorter !== undefined) limit = shorter
        else if (lesson !== undefined) left.add(lesson)
        else throw error
      }
    }
  }
  return { ask }
}

function parametersFor(model: string, request: ModelRequest, { limit, effort }: Wanted, left: Set<Habit>): Parameters {
  return {
    model,
    // A lone surrogate is not text, and some services refuse the whole request for it.
    messages: request.messages.map(({ role, content }) => ({ role, content: content.toWellFormed() })),
    stream: true,
    ...(left.has('stream_options') ? {} : { stream_options: { include_usage: true } }),
    ...(left.has('temperature') ? {} : { temperature: 0 }),
    ...(effort === undefined || left.has(`reasoning_effort ${effort}`) ? {} : { reasoning_effort: effort }),
    ...(left.has('max_tokens') ? { max_completion_tokens: limit } : { max_tokens: limit }),
  }
}

interface Refusal {
  status?: number
  code?: unknown
  param?: unknown
  message?: string
}

/** What the service says of its parameters in this error; undefined when it refused nothing. */
function refusalIn(error: unknown): { said: string; code: string } | undefined {
  const { status, code, param, message } = error as Refusal
  if (status !== 400 && status !== 422) return undefined
  return { said: `${String(param ?? '')} ${message ?? ''}`, code: String(code) }
}

/** "max_tokens is too large: 20000. This model supports at most 16384": the number that it takes, where there is one below ours. */
function shorterLimit(error: unknown, limit: number): number | undefined {
  const { said } = refusalIn(error) ?? {}
  if (said === undefined || !/max_(completion_|output_)?tokens/.test(said)) return undefined
  if (!/too (large|high)|at most|maximum|exceed|less than|<=|range/i.test(said) || /context/i.test(said))
    return undefined
  const numbers = [...said.matchAll(/\d[\d,]*/g)].map(([digits]) => Number(digits.replaceAll(',', '')))
  const taken = Math.max(0, ...numbers.filter((number) => number < limit))
  return taken >= 16 ? taken : undefined
}

/** What to leave out after this refusal; undefined when leaving out would not help. Each is left out once, so this ends. */
function lessonOf(error: unknown, left: Set<Habit>, effort: Effort | undefined): Habit | undefined {
  const { said, code } = refusalIn(error) ?? {}
  if (said === undefined || /context.{0,20}(length|size)|too (long|large)/i.test(`${code} ${said}`)) return undefined
  const sent: Habit[] = ['max_tokens', 'temperature', ...(effort ? [`reasoning_effort ${effort}` as const] : [])]
  const named = [...sent, 'stream_options' as const].find((habit) => said.includes(habit.split(' ')[0]!))
  if (named !== undefined) return left.has(named) ? undefined : named
  // Strict servers refuse what they do not know without naming it; these are the ones that not all know.
  return [...sent.slice(2), 'stream_options' as const].find((habit) => !left.has(habit))
}
