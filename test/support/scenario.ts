// A scenario of the scripted stack, and a process in it.
import type { AppContext } from '../../src/handoff/context.js'
import type { Layout } from '../../src/handoff/domain/run.js'
import type { AnswerRequest } from '../../src/handoff/workflows/answer/find-answer.js'
import type { SummariseRequest } from '../../src/handoff/workflows/summarise/types.js'
import type { FaultName, FaultProxy, PlannedFault, ProxiedCall } from './fault-proxy.js'

export interface PlannedProcess {
  faults?: PlannedFault[]
  /** How to break a call that no fault was planned for. */
  breaking?: (call: ProxiedCall) => FaultName | undefined
  watch?: () => void
  patient?: boolean
  real?: boolean
}

export interface Scenario {
  /** The name of its repository; written on every sandbox of the scenario. */
  name: string
  layout: Layout
  summarise(
    process: TestProcess,
    attempt: string,
    more?: Partial<SummariseRequest> & { ref?: string },
  ): SummariseRequest
  ask(process: TestProcess, question: string, more?: Partial<AnswerRequest>): AnswerRequest
}

export interface TestProcess extends AsyncDisposable {
  close(): Promise<void>
  context: AppContext
  proxy: FaultProxy
  /** Moves the clock of this process, for leases. */
  advance(milliseconds: number): void
}
