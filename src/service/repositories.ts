// The repositories that a caller may see.
import type { App } from './app.js'
import { type Caller, leads, meets } from './auth/authenticate.js'

export async function visibleRepositories(app: App, caller: Caller, signal: AbortSignal): Promise<string[]> {
  const host = new URL(app.settings.github.serverUrl).host
  const may = (test: typeof meets) => (name: string) =>
    caller.repositories.some((pattern) => test(pattern.name, name.toLowerCase()))
  // A caller that may see one repository causes no read of the others.
  const { listRepositories } = await app.product()
  const found = await listRepositories(await app.context(), host, signal, { leads: may(leads) })
  return mergeSpellings(found.filter(may(meets)))
}

/** Merges folders that differ only in case. The older spelling is shown. */
function mergeSpellings(names: string[]): string[] {
  const older = new Map(names.filter((name) => name !== name.toLowerCase()).map((name) => [name.toLowerCase(), name]))
  return [...new Set(names.map((name) => older.get(name.toLowerCase()) ?? name))]
}
