// The main step of the Action. It loads little at start: the work is loaded when an event asks for it.

import { HandoffError } from '../handoff/index.js'
import { keepHeapSmall } from '../handoff/util/heap.js'
import { describeError, formatFailure } from './error-message.js'
import { readContext } from './event-context.js'
import { readOptions } from './inputs.js'
import { routeEvent } from './route-event.js'
import { makeRunner } from './runner.js'
import { makeStateWriter } from './saved-state.js'
import { start } from './start.js'

keepHeapSmall()
const environment = process.env
const runner = makeRunner()

async function runMainStep(): Promise<void> {
  const saver = makeStateWriter(runner)
  const context = await readContext(environment)
  const options = readOptions(runner)
  const decision = routeEvent(context, options)
  if (decision.kind === 'nothing') return decision.notice ? runner.notice(decision.why) : runner.info(decision.why)
  const stop = stopSignal(() => runner.info('The job was cancelled: the sandbox is being destroyed.'))
  const { dispatch: carryOut } = await import('./dispatch.js')
  await carryOut({ runner, saver, context, options, stop, environment }, decision)
  saver.finish()
}

async function report(error: unknown): Promise<void> {
  const failure = describeError(error)
  const { secretRedactor: withoutSecrets } = await import('./dispatch.js')
  const clean = withoutSecrets(runner)
  if (failure.details !== undefined) runner.printUntrusted('Details', clean(failure.details))
  runner.fail(clean(formatFailure(failure)))
}

await start(runner, environment, { work: runMainStep, report, failureCode: 1, refuse: runner.fail })

// A cancelled job gets SIGINT, SIGTERM 7.5 s later, and is killed 2.5 s after that. Node exits at the first signal and would leave a sandbox
// running. So both signals only abort the work, which then cleans up.

function stopSignal(onStop: () => void): AbortSignal {
  const stop = new AbortController()
  const stopped = () => {
    if (stop.signal.aborted) return
    onStop()
    stop.abort(new HandoffError('cancelled', 'The job was cancelled.'))
  }
  process.on('SIGINT', stopped)
  process.on('SIGTERM', stopped)
  return stop.signal
}
