// The events of a workflow. Entry points turn them into log groups, progress lines, server-sent events and timings.
// Names are noun-action. No event holds a secret. Texts of a repository or a model are untrusted.

import type { Depth } from './answers/depth.js'
import type { Usage } from './usage.js'

export type RunEvent =
  | { type: 'step-start'; step: Step; at: number }
  | { type: 'step-end'; step: Step; at: number; milliseconds: number; failed?: boolean }
  | { type: 'notice'; text: string }
  | { type: 'run-chosen'; run: string; directory: string; reused: boolean }
  | { type: 'sandbox-open'; id: string; role: 'summarise' | 'ask'; template: string }
  | { type: 'sandbox-gone'; id: string; role: 'summarise' | 'ask' }
  /** The id only; the token itself is a secret. */
  | { type: 'token-issued'; id: string }
  | { type: 'drive9-identified'; version: string; sha256: string }
  | { type: 'survey-done'; files: number; read: number; cut: number; skipped: number }
  | { type: 'model-estimate'; calls: number; inputTokens: number; cost?: number }
  | ({ type: 'model-call'; purpose: string } & Omit<Usage, 'estimated'>)
  | { type: 'model-text'; purpose: string; text: string }
  | { type: 'answer-claimed'; id: string; claim: string }
  /** All that another process has written of the answer so far. */
  | { type: 'answer-written'; claim: string; text: string }
  /** Before a question is worked on that may cost much: what it takes at most. */
  | { type: 'answer-limit'; depth: Depth; calls: number; tokens: number; cost?: number; text: string }
  /** Another process is answering the same question. */
  | { type: 'answer-joined'; id: string }
  /** The question waits for a sandbox, with so many before it. */
  | { type: 'answer-waiting'; position: number }
  | { type: 'answer-reused'; id: string }
  /** Their lines are proven to stand in the commit. `first` is the best place. */
  | { type: 'excerpts-found'; count: number; files: number; first?: { path: string; from: number; to: number } }

/** In the order of the workflows. Some steps run side by side and end in any order. */
export const steps = [
  'look up', // the canonical run of the commit
  'claim',
  'open directory', // the run's directory, its token, its marker
  'open sandbox',
  'mount',
  'clone',
  'store',
  'survey',
  'find',
  'choose',
  'drain',
  'close sandbox',
  'verify',
  'summarise',
  'describe change',
  'answer',
  'check',
  'seal',
  'point',
  'keep',
] as const

export type Step = (typeof steps)[number]
