// An authenticated caller, and which repositories it may see.
import { HttpError } from '../http/problem-details.js'
import type { Pattern } from '../settings.js'

export interface Caller {
  /** How the caller was authenticated. Any job on GitHub can get an OIDC token; a bearer is known to this deployment. */
  way: 'bearer' | 'job' | 'person'
  /** Names the caller in budgets, slots and records: `bearer:team-a`, `job:123456`, `person:789`. */
  name: string
  /** With a repository id, the run must have recorded that id. A name can move to another repository; an id cannot. */
  repositories: Pattern[]
  /** Whether its answers may be posted as comments. */
  mayComment: boolean
  /** Of a person: asks GitHub whether the person may read the repository, and for its id. Rejects with 403 or 401. */
  repositoryId?: (repository: string, signal: AbortSignal) => Promise<string>
}

/** Returns the pattern that allows the repository. Throws `forbidden` when there is none. */
export async function allow(caller: Caller, repository: string, signal: AbortSignal): Promise<Pattern> {
  const name = repository.toLowerCase()
  const found = caller.repositories.find((pattern) => meets(pattern.name, name))
  if (found === undefined) throw notListed(caller)
  if (caller.repositoryId === undefined) return found
  const id = await caller.repositoryId(name, signal)
  if (found.id !== undefined && found.id !== id) throw notListed(caller)
  return { name: found.name, id }
}

const notListed = ({ way }: Caller) =>
  way === 'person'
    ? new HttpError(403, 'forbidden', 'This service does not answer people about this repository.', {
        next: 'Have the repository added to HANDOFF_SIGN_IN_REPOSITORIES.',
      })
    : new HttpError(403, 'forbidden', 'The token may not see this repository.', {
        next: 'Use a token that lists it, or have it added to HANDOFF_BEARERS.',
      })

export function meets(pattern: string, name: string): boolean {
  if (pattern === '*' || pattern === name) return true
  return pattern.endsWith('/*') && name.startsWith(pattern.slice(0, -1))
}

/** Whether the pattern matches this folder, or may match one below it. */
export function leads(pattern: string, folder: string): boolean {
  return meets(pattern, folder) || pattern.startsWith(`${folder}/`)
}
