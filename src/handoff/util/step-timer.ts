// Measures the steps of a workflow and emits their events, also those of a sandbox's life.
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

/** A sandbox that is killed when it is disposed of: once, however often that is asked for. */
interface OwnedSandbox extends AsyncDisposable {
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
  const close = () => (closing ??= kill())
  return { sandbox, close, [Symbol.asyncDispose]: close }
}
