// E2B reports that a sandbox ended. If a question still needed it, what the question holds is freed, so that the next caller need not wait.
//
// A kill through the API is also how each question ends its own sandbox. The process that opened the sandbox knows whether it did; another one
// does not, and leaves the question to its lease.
import type { AppContext } from '../../context.js'
import type { ClaimedAnswer } from '../../domain/answer.js'
import { endClaim } from '../../store/answer-store.js'
import type { RecordPlace } from '../../store/run-store.js'

interface EndedSandbox {
  id: string
  /** Why it ended, as E2B says it. */
  reason?: string
  metadata: Readonly<Record<string, string>>
}

/** `stopped`: the work in this process. `freed`: the claim of another process. */
type Freed = 'stopped' | 'freed' | 'nothing'

/** Written on the sandbox of a question: whose claim it works for. */
export function claimLabels({ directory, id }: Omit<RecordPlace, 'drive'>, { claim }: ClaimedAnswer) {
  return { directory, answer: id, claim }
}

/** Reasons for which no process of ours ends a sandbox. */
const foreignReasons = new Set(['timeout', 'admin', 'orphaned', 'base_template_missing'])

export async function freeAfterSandbox(
  { id, reason = 'unknown', metadata }: EndedSandbox,
  { ports, root }: Pick<AppContext, 'ports' | 'root'>,
  signal: AbortSignal,
): Promise<Freed> {
  const { directory = '', answer = '', claim = '', handoff, role } = metadata
  if (handoff !== '1' || role !== 'ask') return 'nothing'
  if (await ports.sandboxes.endedOutside(id, reason)) return 'stopped'
  if (!foreignReasons.has(reason)) return 'nothing'
  const isOurs = directory.startsWith(`${root}/`) && /^[0-9a-f]{32}$/.test(answer)
  if (!isOurs) return 'nothing'
  const freed = await endClaim({ drive: ports.drive, directory, id: answer }, claim, ports.clock.now(), signal)
  return freed ? 'freed' : 'nothing'
}
