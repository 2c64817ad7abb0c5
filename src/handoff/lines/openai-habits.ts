// Which parameters a service takes. They all speak the same protocol and differ in what they refuse: reasoning models want another name
// for the limit and no temperature, some servers do not know `stream_options`. A refusal teaches, and is remembered as long as we live.
import type OpenAI from 'openai'
import type { ModelRequest } from '../library/tools.js'

export type Parameters = OpenAI.Chat.ChatCompletionCreateParamsStreaming

type Habit = 'max_tokens' | 'temperature' | 'stream_options'

export interface Habits {
  /** Calls `attempt` with the parameters that this service is known to take, and again with fewer when it refuses one by name. */
  ask<T>(request: ModelRequest, attempt: (parameters: Parameters) => Promise<T>): Promise<T>
}

export function makeHabits(model: string): Habits {
  // OpenAI's own reasoning models refuse both; to know it from the name saves two refusals.
  const reasoning = /(^|[/:])(o\d|gpt-5)/.test(model.toLowerCase())
  const refused = new Set<Habit>(reasoning ? ['max_tokens', 'temperature'] : [])

  async function ask<T>(request: ModelRequest, attempt: (parameters: Parameters) => Promise<T>): Promise<T> {
    const left = new Set(refused)
    for (;;) {
      try {
        const result = await attempt(parametersFor(model, request, left))
        for (const habit of left) refused.add(habit)
        return result
      } catch (error) {
        const lesson = lessonOf(error, left)
        if (lesson === undefined) throw error
        left.add(lesson)
      }
    }
  }
  return { ask }
}

function parametersFor(model: string, request: ModelRequest, left: Set<Habit>): Parameters {
  return {
    model,
    // A lone surrogate is not text, and some services refuse the whole request for it.
    messages: request.messages.map(({ role, content }) => ({ role, content: content.toWellFormed() })),
    stream: true,
    ...(left.has('stream_options') ? {} : { stream_options: { include_usage: true } }),
    ...(left.has('temperature') ? {} : { temperature: 0 }),
    ...(left.has('max_tokens')
      ? { max_completion_tokens: request.maxOutputTokens }
      : { max_tokens: request.maxOutputTokens }),
  }
}

/** What to leave out after this refusal; undefined when leaving out would not help. Each is left out once, so this ends. */
function lessonOf(error: unknown, left: Set<Habit>): Habit | undefined {
  const { status, code, param, message } = error as {
    status?: number
    code?: unknown
    param?: unknown
    message?: string
  }
  if (status !== 400 && status !== 422) return undefined
  const said = `${String(param ?? '')} ${message ?? ''}`
  if (/context.{0,20}length|too (long|large)/i.test(`${String(code)} ${said}`)) return undefined
  const named = (['max_tokens', 'temperature', 'stream_options'] as const).find((habit) => said.includes(habit))
  if (named !== undefined) return left.has(named) ? undefined : named
  // Strict servers refuse what they do not know without naming it; this is the one that not all know.
  return left.has('stream_options') ? undefined : 'stream_options'
}
