// The owner of a machine that works for long shows that it is alive: every thirty seconds it sets the machine to end in two minutes. So a machine
// whose owner died ends soon after, and `npm run sweep` can tell it from others. Short work needs no such request. The machine is created with all
// the time it may take, so that an account which refuses that much refuses it at once.
import type { FoundSandbox } from '../../domain/ports.js'
import { replied, type Service } from './sdk-calls.js'

/** Metadata: until when the machine may be kept alive. */
export const untilKey = 'handoff-until'
const renewEveryMs = 30_000
const leaseMs = 120_000
const renewalMs = 10_000
/** Clocks differ, and the service counts whole seconds. */
const slackMs = 5_000

/** Renews until the returned function is called. A renewal that fails is made up for by the next one. */
export function keepAlive(service: Service, id: string, until: number): () => void {
  const everyMs = service.settings.renewEveryMs ?? renewEveryMs
  const renew = async () => {
    if (Date.now() >= until) return clearInterval(timer)
    const { Sandbox } = await service.sdk()
    const call = AbortSignal.timeout(renewalMs)
    const timeoutMs = Math.max(1, Math.min(leaseMs, until - Date.now()))
    await replied(service, call, (connection) => Sandbox.setTimeout(id, timeoutMs, connection), renewalMs)
  }
  // Whatever was wrong, the next renewal tries again; a machine that is gone is noticed by its command.
  const timer = setInterval(() => void renew().catch(() => undefined), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Whether the owner has missed two renewals. A machine without `untilKey` was made by an earlier version, which never renewed. */
export function hasLostOwner({ startedAt, endsAt, metadata }: FoundSandbox, now: number, longestMs: number): boolean {
  const started = Date.parse(startedAt)
  const ends = Date.parse(endsAt)
  const until = Date.parse(metadata[untilKey] ?? '')
  if (Number.isNaN(until)) return started < now - longestMs
  const neverRenewed = ends > now + leaseMs + slackMs && started < now - 3 * renewEveryMs
  return neverRenewed || (ends < until - slackMs && ends < now + leaseMs - 2 * renewEveryMs)
}
