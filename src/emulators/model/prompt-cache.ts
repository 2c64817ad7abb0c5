// What of a prompt a local model had in its cache, by the rules that services publish.
import type { ModelProfile } from './models.js'
import { countPieces } from './parse-prompt.js'
import type { Usage } from './send-reply.js'

/** Shorter prompts are not cached. */
const leastTokens = 1_024
const step = 128

/** Prompts that are remembered. */
const remembered = 20

export function cacheUsage(
  caching: ModelProfile['caching'],
  text: string,
  earlier: readonly string[],
): Usage['prompt_tokens_details'] {
  const recent = earlier.slice(-remembered)
  if (caching === 'prefixes') {
    const tokens = countPieces(text.slice(0, Math.max(0, ...recent.map((other) => sharedLength(text, other)))))
    return { cached_tokens: tokens < leastTokens ? 0 : tokens - (tokens % step) }
  }
  if (caching === 'whole-prompts') {
    const longest = Math.max(0, ...recent.filter((other) => text.startsWith(other)).map((other) => other.length))
    const tokens = countPieces(text.slice(0, longest))
    const cached = tokens < leastTokens ? 0 : tokens
    const written = countPieces(text) - cached
    return { cached_tokens: cached, cache_write_tokens: cached + written < leastTokens ? 0 : written }
  }
  return { cached_tokens: 0 }
}

function sharedLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  let at = 0
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1
  return at
}
