// The context of a request, where `@vercel/functions` looks for it: behind a symbol, for whatever runs inside that request.
import { AsyncLocalStorage } from 'node:async_hooks'

/** As `@vercel/functions` declares it. */
export interface PlatformContext {
  /** RFC 3339. */
  deadline?: string
  headers: Record<string, string>
  waitUntil(work: Promise<unknown>): void
}

const contexts = new AsyncLocalStorage<PlatformContext>()

/** Once per process. */
export function installContexts(): void {
  const holder = { get: () => contexts.getStore() }
  Object.defineProperty(globalThis, Symbol.for('@vercel/request-context'), { value: holder, configurable: true })
}

export const runInContext = <T>(context: PlatformContext, work: () => T): T => contexts.run(context, work)

/** Of the request that this runs in. */
export function currentContext(): PlatformContext {
  const context = contexts.getStore()
  if (context === undefined) throw new Error('No request runs here.')
  return context
}
