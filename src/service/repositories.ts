// The repositories that a caller may see.
import type { App } from './app.js'
import { allow, type Caller, leads, meets } from './auth/caller.js'
import { HttpError } from './http/problem-details.js'

export async function visibleRepositories(app: App, caller: Caller, signal: AbortSignal): Promise<string[]> {
  const host = new URL(app.settings.github.serverUrl).host
  const may = (test: typeof meets) => (name: string) =>
    caller.repositories.some((pattern) => test(pattern.name, name.toLowerCase()))
  // A caller that may see one repository causes no read of the others.
  const { listRepositories } = await app.product()
  const found = await listRepositories(await app.lookup(), host, signal, { leads: may(leads) })
  return mergeSpellings(await readable(found.filter(may(meets)), caller, app, signal))
}

/** Repositories that GitHub is asked about for a person. */
const mostAsked = 200

/** Of a person's repositories those that the person may read now. */
async function readable(names: string[], caller: Caller, app: App, signal: AbortSignal): Promise<string[]> {
  if (caller.repositoryId === undefined) return names
  const { mapConcurrent } = await app.product()
  const found = await mapConcurrent(8, names.slice(0, mostAsked), async (name) => {
    try {
      await allow(caller, name, signal)
      return [name]
    } catch (error) {
      if (error instanceof HttpError && error.problem.status === 403) return []
      throw error
    }
  })
  return found.flat()
}

/** Merges folders that differ only in case. The older spelling is shown. */
function mergeSpellings(names: string[]): string[] {
  const older = new Map(names.filter((name) => name !== name.toLowerCase()).map((name) => [name.toLowerCase(), name]))
  return [...new Set(names.map((name) => older.get(name.toLowerCase()) ?? name))]
}
