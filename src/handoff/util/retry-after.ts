/** Milliseconds that a `Retry-After` header asks for: whole or decimal seconds, or a date. Undefined when it is absent or unreadable. */
export function retryAfterMs(value: string | null | undefined, nowMs: number): number | undefined {
  if (!value) return undefined
  const text = value.trim()
  const wait = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined
}
