// The dependencies that a workflow is given: the clients of outside services, and the settings of this installation.

import type { Depth } from './domain/answers/depth.js'
import type { Prices } from './domain/model-prices.js'
import type { Journal, Model, Ports } from './domain/ports.js'
import type { LoadProgram } from './sandbox/run-program.js'
import type { Budgets } from './store/caller-budgets.js'
import type { Admission } from './workflows/answer/admission.js'

export interface AppContext {
  ports: Ports
  /** How many questions this process works on at once. */
  admission: Admission
  /** What each caller may spend. */
  budgets: Budgets
  /** The program that is sent into sandboxes. */
  program: LoadProgram
  /** Where on the drive everything is. */
  root: string
  limits: {
    /** Input tokens and money that one summary may cost. */
    inputTokens: number
    maxCost?: number | undefined
    /** How deep a question is looked into that does not say it; normal when absent. */
    depth?: Depth | undefined
    /** Requests to the model that one summary sends at once; 8 when absent. */
    modelRequests?: number | undefined
    /** How long a workflow may take; a sandbox never outlives it by more than a minute. */
    deadlineMs: number
    /** When a sandbox that answers ends by itself, in milliseconds since 1970, where a minute after the deadline is too late. */
    sandboxBy?: number
    /** How long a question waits while the E2B account is full; not at all when absent. */
    accountWaitMs?: number
  }
  /** Where seals, answers, corrections and removals are noted, if the operator wants that. */
  journal?: Journal
  prices?: Prices
  /** What the team wants the model to know: a note, and no rule. */
  instructions?: string | undefined
  /** What the drive9 program in a sandbox must hash to, where that is pinned. */
  drive9Sha256?: string | undefined
  /** Takes work that must end, and that the answer need not wait for. Without it the answer waits. */
  background?: (work: Promise<unknown>) => void
  /** Takes our own keys, and what has the shape of a credential, out of foreign text that is stored. */
  redact: (text: string) => string
}

/** What reading run directories takes: no sandbox and no model. */
export interface ReadContext {
  ports: Pick<Ports, 'drive' | 'git' | 'clock'>
  root: string
}

/** What finding an answer takes. What a question needs that is not answered yet is created for it. */
export interface LookupContext extends ReadContext {
  ports: ReadContext['ports'] & Pick<Ports, 'uniqueId' | 'emit'> & { model: Pick<Model, 'name'> }
  limits: Pick<AppContext['limits'], 'depth'>
}

/** What a sandbox may reach. */
export function egressOf(context: AppContext, ...more: string[]): string[] {
  return [...new Set([...context.ports.drive.hosts, ...more])]
}

/** A margin over the workflow's own deadline: the server's timer is the last guard, not the first. */
export const lifetimeMargin = 60_000
