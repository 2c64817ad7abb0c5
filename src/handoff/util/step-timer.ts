// What both walks share: steps that are timed and told, and a sandbox that dies on every path.
import { bothFailures } from '../domain/errors.js'
import type { Ports, Sandbox, SandboxRequest } from '../domain/ports.js'
import { type Step, steps } from '../domain/run-events.js'

export interface StepTimer {
  /** Does one step, tells its start and its end, and keeps its time. */
  step<T>(step: Step, work: () => Promise<T>): Promise<T>
  /** For steps that happen elsewhere and are told afterwards. */
  note(step: Step, milliseconds: number): void
  /** Milliseconds by step so far, in the order of the story. */
  durations(): Record<string, number>
}

export function startTimer(ports: Pick<Ports, 'emit' | 'clock'>): StepTimer {
  const times = new Map<Step, number>()
  const add = (step: Step, milliseconds: number) => times.set(step, (times.get(step) ?? 0) + milliseconds)
  const clock = () => ports.clock.now()
  return {
    async step(step, work) {
      const start = clock()
      let failed = true
      ports.emit({ type: 'step-start', step, at: start })
      try {
        const result = await work()
        failed = false
        return result
      } finally {
        const end = clock()
        add(step, end - start)
        ports.emit({ type: 'step-end', step, at: end, milliseconds: end - start, ...(failed ? { failed } : {}) })
      }
    },
    note(step, milliseconds) {
      add(step, milliseconds)
      const at = clock()
      ports.emit({ type: 'step-start', step, at: at - milliseconds })
      ports.emit({ type: 'step-end', step, at, milliseconds })
    },
    durations: () =>
      Object.fromEntries(steps.flatMap((step) => (times.has(step) ? [[step, times.get(step) ?? 0]] : []))),
  }
}

/** A machine that is ours until `close`: idempotent, awaited on every path, and told. */
export interface OwnedSandbox {
  sandbox: Sandbox
  close(): Promise<void>
}

export async function openSandbox(
  timer: StepTimer,
  ports: Ports,
  role: 'summarise' | 'ask',
  request: SandboxRequest,
  signal: AbortSignal,
): Promise<OwnedSandbox> {
  const sandbox = await timer.step('open sandbox', () => ports.sandboxes.open(request, signal))
  ports.emit({ type: 'sandbox-open', id: sandbox.id, role, template: sandbox.template })
  let closing: Promise<void> | undefined
  const kill = async () => {
    await timer.step('close sandbox', () => sandbox.kill())
    ports.emit({ type: 'sandbox-gone', id: sandbox.id, role })
  }
  return { sandbox, close: () => (closing ??= kill()) }
}

/**
 * Does the work, then undoes in order whatever happened. The work's own error is told first; an undoing that fails is told too, also after
 * good work, because the caller was promised that it is done.
 */
export async function withCleanup<T>(work: () => Promise<T>, undo: (() => Promise<unknown>)[]): Promise<T> {
  let result: { value: T } | { error: unknown }
  try {
    result = { value: await work() }
  } catch (error) {
    result = { error }
  }
  for (const step of undo) {
    try {
      await step()
    } catch (error) {
      result = { error: 'error' in result ? bothFailures(result.error, error) : error }
    }
  }
  if ('error' in result) throw result.error
  return result.value
}

/** Both at once. When one fails the other is still waited for, and `release` gets what it had made. */
export async function openBoth<A, B>(
  first: Promise<A>,
  second: Promise<B>,
  release: { first?: (a: A) => Promise<unknown>; second?: (b: B) => Promise<unknown> },
): Promise<[A, B]> {
  const [a, b] = await Promise.allSettled([first, second])
  if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value]
  if (a.status === 'fulfilled') await release.first?.(a.value).catch(() => undefined)
  if (b.status === 'fulfilled') await release.second?.(b.value).catch(() => undefined)
  if (a.status === 'rejected' && b.status === 'rejected') throw bothFailures(a.reason, b.reason)
  throw a.status === 'rejected' ? a.reason : (b as PromiseRejectedResult).reason
}

/** A time of its own for cleaning up: the walk's signal may have been aborted long before. */
export function cleanupSignal(): AbortSignal {
  return AbortSignal.timeout(10_000)
}

/** Aborted so long after the other: what has begun may end, because whether it was done is worth knowing. */
export function delayAbort(signal: AbortSignal, milliseconds: number): AbortSignal {
  const later = new AbortController()
  const wait = () => setTimeout(() => later.abort(signal.reason), milliseconds).unref()
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
  return later.signal
}
