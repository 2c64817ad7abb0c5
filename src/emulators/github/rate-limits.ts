// GitHub's limits: so many requests an hour (primary), and the ones against bursts that it does not announce (secondary).
import type { RecordedRequest, Reply } from '../faulty-server.js'
import { errorReply } from './request-context.js'

export interface RateLimitOptions {
  /** Requests in an hour; 5,000 when absent. */
  perHour?: number
  /** Comments and reactions in a minute; 80 when absent. */
  contentPerMinute?: number
}

interface SecondaryLimit {
  /** How many requests meet it. */
  times: number
  method?: string
  path?: RegExp
  /** What `retry-after` says; null for none. */
  retryAfterSeconds: number | null
  status?: 403 | 429
}

export interface RateLimits {
  /** No request is left until then. */
  exhaustHourlyLimit(seconds: number): void
  /** The next matching requests get a secondary rate limit error. */
  addSecondaryLimit(limit: SecondaryLimit): void
}

export function makeRateLimits(options: RateLimitOptions) {
  const perHour = options.perHour ?? 5_000
  const contentPerMinute = options.contentPerMinute ?? 80
  const pending: (SecondaryLimit & { met: number })[] = []
  const writes: number[] = []
  const primary = { used: 0, resetAt: Date.now() + 3_600_000 }

  const headers = (): Record<string, string> => ({
    'x-ratelimit-limit': String(perHour),
    'x-ratelimit-remaining': String(Math.max(0, perHour - primary.used)),
    'x-ratelimit-used': String(primary.used),
    'x-ratelimit-reset': String(Math.ceil(primary.resetAt / 1_000)),
    'x-ratelimit-resource': 'core',
  })

  function overSecondary(request: RecordedRequest): Reply | null {
    const limit = pending.find((one) => one.met < one.times && matches(one, request))
    if (limit) {
      limit.met += 1
      return secondaryLimitReply(limit.status ?? 403, limit.retryAfterSeconds)
    }
    if (request.method !== 'POST' && request.method !== 'PATCH') return null
    const now = Date.now()
    while (writes.length > 0 && writes[0]! <= now - 60_000) writes.shift()
    if (writes.length >= contentPerMinute) return secondaryLimitReply(403, 60)
    writes.push(now)
    return null
  }

  /** The refusal, or null when the request may pass. */
  function admit(request: RecordedRequest): Reply | null {
    if (Date.now() >= primary.resetAt) Object.assign(primary, { used: 0, resetAt: Date.now() + 3_600_000 })
    if (primary.used >= perHour) return errorReply(403, 'API rate limit exceeded for installation.')
    primary.used += 1
    return overSecondary(request)
  }

  const controls: RateLimits = {
    exhaustHourlyLimit: (seconds) => {
      Object.assign(primary, { used: perHour, resetAt: Date.now() + seconds * 1_000 })
    },
    addSecondaryLimit: (limit) => {
      pending.push({ ...limit, met: 0 })
    },
  }
  return { controls, admit, headers }
}

function matches(limit: SecondaryLimit, request: RecordedRequest): boolean {
  return (!limit.method || limit.method === request.method) && (!limit.path || limit.path.test(request.path))
}

function secondaryLimitReply(status: number, retryAfterSeconds: number | null): Reply {
  const reply = errorReply(
    status,
    'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.',
  )
  const wait: Record<string, string> = retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }
  return { ...reply, headers: { ...reply.headers, ...wait } }
}
