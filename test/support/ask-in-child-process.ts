// Asks one question in a child process and kills the process at its n-th call.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultProxy } from './fault-proxy.js'
import type { Scenario, TestProcess } from './scenario.js'
import { ampleWaitMs } from './scripted-program.js'
import type { ScriptedStack } from './scripted-stack.js'

const here = import.meta.dirname

export async function askInChild(asked: {
  stack: ScriptedStack
  place: Scenario
  proxy: FaultProxy
  question: string
  /** Killed at once when this many calls have come through its proxy. */
  killAt: number
}): Promise<{ killed: boolean }> {
  const { stack, place, proxy, question, killAt } = asked
  const program = join(stack.clouds.sandboxes.directory, 'program-text.mjs')
  writeFileSync(program, await stack.sandboxProgram.program(ampleWaitMs)())
  const request = place.ask({ proxy } as TestProcess, question)
  const child = spawn(
    process.execPath,
    ['--import', join(here, '../../src/build/ts-loader.mjs'), join(here, 'ask-child-program.ts'), program],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        E2B_API_KEY: stack.clouds.sandboxes.settings.E2B_API_KEY,
        E2B_API_URL: proxy.url.sandboxes,
        E2B_SANDBOX_URL: proxy.url.sandboxes,
        E2B_TEMPLATE: stack.clouds.sandboxes.settings.E2B_TEMPLATE,
        DRIVE9_API_KEY: stack.clouds.drive.ownerKey,
        DRIVE9_SERVER: proxy.url.drive,
        LLM_API_KEY: stack.clouds.model.key,
        LLM_BASE_URL: `${proxy.url.model}/v1`,
        LLM_MODEL: stack.clouds.model.name,
        ASK: JSON.stringify(request),
        INSIDE: proxy.url.inside,
      },
    },
  )
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
  const watching = setInterval(() => proxy.calls.length >= killAt && child.kill('SIGKILL'), 1)
  const signal = await ended
  clearInterval(watching)
  return { killed: signal === 'SIGKILL' }
}
