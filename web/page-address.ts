// The address of the page: `/?repository=owner/name&run=…&answer=…`. `ref=main` and `pull=7` lead to the newest run. A reader can share it and return
// to it; the token is not part of it.
import type { RunAddress } from './api-types.js'

export type Place = Partial<RunAddress> & { answer?: string | undefined }

interface AddressedPlace extends Place {
  ref?: string
  pull?: string
  /** How signing in ended, where it did not succeed. */
  signin?: string
}

export function readAddress(): AddressedPlace {
  const query = new URLSearchParams(location.search)
  const names = ['repository', 'run', 'answer', 'ref', 'pull', 'signin'].filter((name) => query.get(name))
  return Object.fromEntries(names.map((name) => [name, query.get(name)]))
}

export function addressOf({ repository, run, answer }: Place): string {
  const known = Object.entries({ repository, run, answer }).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  )
  return known.length === 0 ? '/' : `/?${new URLSearchParams(known)}`
}
