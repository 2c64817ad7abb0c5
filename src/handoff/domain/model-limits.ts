// How many tokens one reply of a model may have: the text that is wanted, and room for the thinking that comes before it.
//
// Models that think pay for it from the reply's limit, and the thinking is not seen. How much they think is not known beforehand: it depends on
// the model and on the effort that is asked for. The numbers here are where the client begins; what a service reports teaches it more.

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
/** As the parameter `reasoning_effort` spells it. */
export type Effort = (typeof efforts)[number]

/** Tokens of thinking that a reply has room for, by effort. The thinking itself is usually a fifth of it. */
const roomFor: Record<Effort, number> = {
  none: 0,
  minimal: 1_000,
  low: 4_000,
  medium: 8_000,
  high: 16_000,
  xhigh: 32_000,
  max: 48_000,
}

/** For a model that the table below does not know. It may think; a reply that was cut asks for more. */
const unknownRoom = 2_000

/** Of the room for thinking, what a request is expected to use. */
const expectedShare = 0.2

/** A second request has so many times the limit of the first. */
const widening = 4

interface Family {
  names: RegExp
  /** The least effort that the family knows; absent where it does not know the parameter. */
  least?: Effort
  /** What it does when no effort is asked for. */
  usual: Effort
}

/** The first that matches. Names are without the reseller's prefix. */
const families: Family[] = [
  { names: /^(gpt-[34]|chatgpt-4o|gpt-5(\.\d+)?-chat)/, usual: 'none' },
  { names: /^gpt-(5\.[1-9]|[6-9]|[1-9]\d)/, least: 'none', usual: 'medium' },
  { names: /^gpt-5/, least: 'minimal', usual: 'medium' },
  { names: /^(o\d|gpt-oss)/, least: 'low', usual: 'medium' },
  { names: /^gemini-2\.5-flash/, least: 'none', usual: 'medium' },
  { names: /^gemini-(2\.5|[3-9])/, least: 'low', usual: 'medium' },
  { names: /^(deepseek|kimi|moonshot|glm|qwq|qwen.*think|magistral)/, usual: 'medium' },
]

/** `openai/gpt-5-mini` and `ft:gpt-5-mini:…` are `gpt-5-mini`. */
function familyOf(model: string): Family | undefined {
  const plain = model.toLowerCase().replace(/^ft:/, '').replace(/^.*\//, '')
  return families.find(({ names }) => names.test(plain))
}

/** The least that a model can be asked to think; undefined where it does not know the parameter. */
const leastEffort = (model: string): Effort | undefined => familyOf(model)?.least

/** Whether the model is one of OpenAI's that refuse `max_tokens` and a temperature. */
export const refusesOldParameters = (model: string): boolean => /(^|[/:])(o\d|gpt-[5-9])/.test(model.toLowerCase())

export interface ModelLimits {
  /** LLM_MODEL. */
  name: string
  /** LLM_CONTEXT_TOKENS: input and output of one request together. */
  contextTokens: number
  /** LLM_MAX_OUTPUT_TOKENS: what one reply may have at most, thinking included. */
  maxOutputTokens?: number | undefined
  /** LLM_REASONING_EFFORT. */
  effort?: Effort | undefined
}

export interface WantedReply {
  /** Tokens of text. */
  answerTokens: number
  /** `least`: the model is asked to think as little as it can. */
  effort?: 'least' | undefined
  /** A second request after a reply that had too little room. */
  wide?: boolean | undefined
}

/** The effort to ask for; undefined sends none. */
export function effortFor(
  limits: Pick<ModelLimits, 'name' | 'effort'>,
  wanted: Pick<WantedReply, 'effort'>,
): Effort | undefined {
  return wanted.effort === 'least' ? (leastEffort(limits.name) ?? limits.effort) : limits.effort
}

/** Tokens of room for thinking. `learned` is what the service reported, for this effort. */
function thinkingRoom(limits: ModelLimits, wanted: Pick<WantedReply, 'effort'>, learned: number): number {
  const effort = effortFor(limits, wanted) ?? familyOf(limits.name)?.usual
  const usual = effort === undefined ? unknownRoom : roomFor[effort]
  const room = Math.min(Math.max(usual, 2 * learned), widening * Math.max(usual, unknownRoom))
  return Math.min(room, Math.floor(limits.contextTokens / 4))
}

/** What a reply may have in all. `learned` is the most thinking that the service reported so far. */
export function replyLimit(limits: ModelLimits, wanted: WantedReply, learned = 0): number {
  const { wide, answerTokens } = wanted
  const once = answerTokens + thinkingRoom(limits, wanted, wide ? 0 : learned)
  const limit = wide ? widening * once : once
  return Math.min(limit, limits.maxOutputTokens ?? limit, limits.contextTokens)
}

/** Whether a reply may be cut because thinking took its room. */
export const mayThink = (limits: ModelLimits): boolean => thinkingRoom(limits, {}, 0) > 0

/** What a reply is expected to think, for an estimate of what something will cost. */
export function expectedThinking(limits: ModelLimits): number {
  return Math.round(thinkingRoom(limits, {}, 0) * expectedShare)
}
