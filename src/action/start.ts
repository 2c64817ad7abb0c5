// What the two programs of the Action, the job's step and the step after the job, do before anything else.
import { secretValues } from './inputs.js'
import { maskAll } from './mask-secrets.js'
import { goesAroundProxy, useProxy } from './proxy.js'
import type { Environment, Runner } from './runner.js'

/** What SDKs would read from the environment by themselves: inputs are the only way in, so that a job's other steps cannot redirect us. */
function removeForeignSettings(environment: Environment): void {
  for (const name of Object.keys(environment)) if (/^(E2B|OPENAI|LLM|DRIVE9)_/.test(name)) delete environment[name]
}

interface Program {
  work: () => Promise<void>
  /** Reports a failure. Never throws. */
  report: (error: unknown) => Promise<void>
  /** The process ends with it after an error that was not caught. */
  failureCode: 0 | 1
  /** Called when the runner's Node is too old for its proxy. */
  refuse: (sentence: string) => void
}

export async function start(runner: Runner, environment: Environment, program: Program): Promise<void> {
  if (goesAroundProxy(environment)) {
    return program.refuse(
      `The runner is behind a proxy, and its Node (${process.versions.node}) would send calls around it. Update the runner: Node 24.5 or newer does not.`,
    )
  }
  const exitCode = await useProxy(environment)
  if (exitCode !== null) {
    process.exitCode = exitCode
    return
  }
  // Node would print the error as it is, and with it whatever a repository put there.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      void program.report(error).finally(() => process.exit(program.failureCode))
    })
  }
  maskAll(runner, secretValues(runner))
  removeForeignSettings(environment)
  await program.work().catch(program.report)
}
