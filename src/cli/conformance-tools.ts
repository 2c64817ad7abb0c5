// What the checks of services share.
import { type AppContext, HandoffError } from '../handoff/index.js'

export interface Tools {
  context: AppContext
  /** A directory on drive9 for these checks alone. */
  directory: string
  /** An address that sandboxes with limited egress must not reach; undefined where no limit can be checked. */
  outside?: { host: string; port: number }
  signal: AbortSignal
}

export interface Check<T extends Tools = Tools> {
  name: string
  /** What it means for the operator where it does not hold. */
  meaning: string
  /** Throws where it does not hold. Returns why, as text, where the service does not offer it. */
  run: (tools: T) => Promise<unknown>
}

export function broken(problem: string): HandoffError {
  return new HandoffError('sandbox', problem)
}
