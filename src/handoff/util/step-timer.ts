// Measures the steps of a workflow and emits their events; opens a sandbox that is killed on every path.
import { bothFailures } from '../domain/errors.js'
import type { Ports, Sandbox, SandboxRequest } from '../domain/ports.js'
import { type Step, steps } from '../domain/run-events.js'

export interface StepTimer {
  /** Runs one step, emits its start and end, and records its time. */
  step<T>(step: Step, work: () => Promise<T>): Promise<T>
  /** Records a step that ran elsewhere, such as in the sandbox. */
  note(step: Step, milliseconds: number): void
  /** Milliseconds by step so far, in the order of the workflow. */
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

/** A sandbox that the caller owns until `close`, which is idempotent and must be awaited on every path. */
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
 * Runs the work, then the cleanup steps in order, also after a failure. The work's error comes first; a failed cleanup is reported too, even
 * after successful work.
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

/** Opens two resources side by side. If one fails, the other is awaited and released. */
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

/** A separate timeout for cleanup, because the workflow's signal may be aborted already. */
export function cleanupSignal(): AbortSignal {
  return AbortSignal.timeout(10_000)
}

/** Aborts some time after the other signal, so that a started request can still report its result. */
export function delayAbort(signal: AbortSignal, milliseconds: number): AbortSignal {
  const later = new AbortController()
  const wait = () => setTimeout(() => later.abort(signal.reason), milliseconds).unref()
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
  return later.signal
}
