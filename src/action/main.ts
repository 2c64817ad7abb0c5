// The front door: GitHub comes in here. The same file is the job's step and the step after the job; which of the two it is, the saved state
// tells. What it loads is kept small: the work itself is loaded when an event asks for it.
import { readContext } from './context.js'
import { decide } from './events.js'
import { failureOf, sentenceOf } from './failure.js'
import { readOptions, secretValues } from './inputs.js'
import { maskAll } from './masks.js'
import { goesAroundProxy, useProxy } from './proxy.js'
import { makeRunner, type Runner } from './runner.js'
import { stopSignal } from './signals.js'
import { makeSaver, readLeft, type Saver } from './state.js'

const environment = process.env

async function work(runner: Runner, saver: Saver): Promise<void> {
  const context = await readContext(environment)
  const options = readOptions(runner)
  const decision = decide(context, options)
  if (decision.kind === 'nothing') return decision.notice ? runner.notice(decision.why) : runner.info(decision.why)
  const stop = stopSignal(() => runner.info('The job was cancelled: the sandbox is being destroyed.'))
  const { carryOut } = await import('./work.js')
  await carryOut({ runner, saver, context, options, stop, environment }, decision)
}

async function main(runner: Runner): Promise<void> {
  const saver = makeSaver(runner)
  saver.begin()
  try {
    await work(runner, saver)
    saver.finish()
  } catch (error) {
    await tellFailure(runner, error)
  }
}

async function tellFailure(runner: Runner, error: unknown): Promise<void> {
  const failure = failureOf(error)
  const { withoutSecrets } = await import('./work.js')
  const clean = withoutSecrets(runner)
  if (failure.details !== undefined) runner.quote('Details', clean(failure.details))
  runner.fail(clean(sentenceOf(failure)))
}

/** What SDKs would read from the environment by themselves: inputs are the only way in, so that a job's other steps cannot redirect us. */
function forgetOtherSettings(): void {
  for (const name of Object.keys(environment)) if (/^(E2B|OPENAI|LLM|DRIVE9)_/.test(name)) delete environment[name]
}

const runner = makeRunner()

const tooOld = goesAroundProxy(environment)
const instead = tooOld ? null : await useProxy(environment)
if (tooOld) {
  runner.fail(
    `The runner is behind a proxy, and its Node (${process.versions.node}) would send calls around it. Update the runner: Node 24.5 or newer does not.`,
  )
} else if (instead !== null) process.exitCode = instead
else {
  const after = readLeft(runner).begun
  // Node would print the error as it is, and with it whatever a repository put there. The step after the job never fails it.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      void tellFailure(runner, error).finally(() => process.exit(after ? 0 : 1))
    })
  }
  maskAll(runner, secretValues(runner))
  forgetOtherSettings()
  if (after) await import('./cleanup.js').then(({ cleanUp }) => cleanUp(runner, environment))
  else await main(runner)
}
