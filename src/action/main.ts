// The program of the job's step. What it loads is kept small: the work itself is loaded when an event asks for it.
import { readContext } from './context.js'
import { decide } from './events.js'
import { failureOf, sentenceOf } from './failure.js'
import { readOptions } from './inputs.js'
import { makeRunner } from './runner.js'
import { stopSignal } from './signals.js'
import { start } from './start.js'
import { makeSaver } from './state.js'

const environment = process.env
const runner = makeRunner()

async function work(): Promise<void> {
  const saver = makeSaver(runner)
  const context = await readContext(environment)
  const options = readOptions(runner)
  const decision = decide(context, options)
  if (decision.kind === 'nothing') return decision.notice ? runner.notice(decision.why) : runner.info(decision.why)
  const stop = stopSignal(() => runner.info('The job was cancelled: the sandbox is being destroyed.'))
  const { carryOut } = await import('./work.js')
  await carryOut({ runner, saver, context, options, stop, environment }, decision)
  saver.finish()
}

async function report(error: unknown): Promise<void> {
  const failure = failureOf(error)
  const { withoutSecrets } = await import('./work.js')
  const clean = withoutSecrets(runner)
  if (failure.details !== undefined) runner.quote('Details', clean(failure.details))
  runner.fail(clean(sentenceOf(failure)))
}

await start(runner, environment, { work, report, failureCode: 1, refuse: runner.fail })
