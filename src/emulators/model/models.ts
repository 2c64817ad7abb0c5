// The models of the local service. Each plays one thing that real services do to their callers; `plays` says which, and is what people read.
//
// All of them quote from the prompt in the same way: only the rules around the reply differ.

/** How many thinking tokens a reasoning model spends, as a multiple of `thinkingTokens`. */
const efforts = { none: 0, minimal: 0.05, low: 0.3, medium: 1, high: 2, xhigh: 3, max: 4 }

/** What a reasoning model spends on one reply at medium effort. */
const thinkingTokens = 1_500

type Effort = keyof typeof efforts

export interface ModelProfile {
  name: string
  simulates: string
  /** Tokens that prompt and reply may have together. */
  contextTokens: number
  /** What happens to a request that is longer: refused in OpenAI's words or in llama.cpp's, or cut as Ollama cuts it. */
  tooLong: 'refuse' | 'refuse-as-llama' | 'cut'
  maxOutputTokens?: number
  /** The efforts that a reasoning model takes; absent for a model that does not think. */
  efforts?: readonly Effort[]
  /** The request fields it takes; `usualFields` when absent. Some servers ignore what they do not know. */
  fields?: readonly string[] | 'any'
  /** Takes this field in the first request that has it, refuses it in the second, and so on. */
  unsteadyField?: string
  /** Reuses the beginning of an earlier prompt, or only a whole earlier prompt whose writing it charges for. */
  caching?: 'prefixes' | 'whole-prompts'
  /** Serves one request at a time; the others wait without a word. */
  serial?: boolean
  /** How long it is silent before the reply; with `comments`, it sends comments that keep the connection open. */
  wait?: { milliseconds: number; comments?: boolean }
}

/** What the local models take of the fields of a chat completion. They refuse the others, as they would not act on them. */
export const usualFields = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'seed',
  'reasoning_effort',
  'prompt_cache_key',
  'prompt_cache_options',
  'safety_identifier',
  'service_tier',
  'metadata',
  'store',
  'user',
]

const roomy = { contextTokens: 1_000_000, tooLong: 'refuse' } as const
const reasoning = { ...roomy, maxOutputTokens: 128_000 } as const
const small = { contextTokens: 8_192 } as const

export const offlineModel = 'offline-extractive'

export const localModels: readonly ModelProfile[] = [
  { name: offlineModel, simulates: 'a service that takes what it is sent', ...roomy },
  {
    name: 'offline-reasoning',
    simulates: 'a reasoning model: it thinks before the first letter and charges that to the limit of the reply',
    efforts: ['minimal', 'low', 'medium', 'high'],
    ...reasoning,
  },
  {
    name: 'offline/gpt-6-luna',
    simulates: 'a reasoning model with a name that tells so; it caches whole prompts and charges for writing them',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    caching: 'whole-prompts',
    ...reasoning,
  },
  {
    name: 'offline-strict',
    simulates: 'a service that refuses each field it does not know, and stream_options in every second request',
    fields: ['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'temperature', 'top_p'],
    unsteadyField: 'stream_options',
    ...roomy,
  },
  {
    name: 'offline-small-context',
    simulates: 'a context of 8,192 tokens; it refuses more',
    ...small,
    tooLong: 'refuse',
  },
  {
    name: 'offline-small-context-llama',
    simulates: 'a context of 8,192 tokens that refuses more in the words of llama.cpp, and ignores unknown fields',
    fields: 'any',
    ...small,
    tooLong: 'refuse-as-llama',
  },
  {
    name: 'offline-cutting',
    simulates: 'a context of 4,096 tokens; of a longer prompt it reads the last 2,050 and says so in usage only',
    contextTokens: 4_096,
    tooLong: 'cut',
  },
  {
    name: 'offline-serial',
    simulates: 'a server that serves one request at a time and takes 12 seconds for each',
    serial: true,
    wait: { milliseconds: 12_000 },
    ...roomy,
  },
  {
    name: 'offline-caching',
    simulates: 'a service that caches prefixes of 1,024 tokens and more, in steps of 128',
    caching: 'prefixes',
    ...roomy,
  },
  {
    name: 'offline-silent',
    simulates: 'a server that sends nothing for a minute, then the reply',
    wait: { milliseconds: 60_000 },
    ...roomy,
  },
  {
    name: 'offline-keep-alive',
    simulates: 'a gateway that sends only comments for a minute, then the reply',
    wait: { milliseconds: 60_000, comments: true },
    ...roomy,
  },
]

export const localModelNamed = (name: unknown): ModelProfile | undefined =>
  localModels.find((model) => model.name === name)

/** What this model thinks before it replies, in tokens. */
export function thinkingFor(model: ModelProfile, effort: unknown): number {
  if (!model.efforts) return 0
  return Math.round(thinkingTokens * efforts[model.efforts.find((one) => one === effort) ?? 'medium'])
}
