// What both stories are given: the outside, and how this installation wants things done.

import type { Prices } from './domain/model-prices.js'
import type { Ports } from './domain/ports.js'
import type { GuestProgram } from './sandbox/run-program.js'

export interface AppContext {
  ports: Ports
  /** The program that is sent into sandboxes. */
  program: GuestProgram
  /** Where on the drive everything is. */
  root: string
  limits: {
    /** Input tokens and money that one summary may cost. */
    inputTokens: number
    maxCost?: number
    /** Requests to the model that one summary sends at once; 8 when absent. */
    modelRequests?: number
    /** How long a walk may take; a sandbox never outlives it by more than a minute. */
    deadlineMs: number
    /** When a sandbox that answers ends by itself, in milliseconds since 1970, where the walk's deadline and a minute is too late. */
    sandboxBy?: number
  }
  prices?: Prices
  /** What the drive9 program in a sandbox must hash to, where that is pinned. */
  drive9Sha256?: string
  /** For what whoever waits need not wait for, and what has to end all the same; without it they wait. */
  background?: (work: Promise<unknown>) => void
  /** Takes our own keys, and what has the shape of a credential, out of text that somebody else wrote and we keep. */
  redact: (text: string) => string
}

/** What reading run directories takes: no machine and no model. */
export interface ReadContext {
  ports: Pick<Ports, 'drive' | 'git' | 'now'>
  root: string
}

/** What a sandbox may reach. */
export function egressOf(context: AppContext, ...more: string[]): string[] {
  return [...new Set([...context.ports.drive.hosts, ...more])]
}

/** A margin over the walk's own deadline: the server's timer is the last guard, not the first. */
export const lifetimeMargin = 60_000
