// A process of its own that asks one question, and is killed when it makes its so-manyeth call.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Gate } from './gate.js'
import type { Place, QuickProcess, QuickWorld } from './in-memory-context.js'

const here = import.meta.dirname

export async function askInChild(asked: {
  world: QuickWorld
  place: Place
  gate: Gate
  question: string
  /** Killed at once when this many calls have come through its gate. */
  killAt: number
}): Promise<{ killed: boolean }> {
  const { world, place, gate, question, killAt } = asked
  const program = join(world.clouds.sandboxes.directory, 'program-text.mjs')
  writeFileSync(program, await world.sandboxProgram.patient())
  const request = place.ask({ gate } as QuickProcess, question)
  const child = spawn(
    process.execPath,
    ['--import', join(here, '../../src/build/ts-loader.mjs'), join(here, 'asking-program.ts'), program],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        E2B_API_KEY: world.clouds.sandboxes.settings.E2B_API_KEY,
        E2B_API_URL: gate.url.sandboxes,
        E2B_SANDBOX_URL: gate.url.sandboxes,
        E2B_TEMPLATE: world.clouds.sandboxes.settings.E2B_TEMPLATE,
        DRIVE9_API_KEY: world.clouds.drive.ownerKey,
        DRIVE9_SERVER: gate.url.drive,
        LLM_API_KEY: world.clouds.model.key,
        LLM_BASE_URL: `${gate.url.model}/v1`,
        LLM_MODEL: world.clouds.model.name,
        ASK: JSON.stringify(request),
        INSIDE: gate.url.inside,
      },
    },
  )
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
  const watching = setInterval(() => gate.passages.length >= killAt && child.kill('SIGKILL'), 1)
  const signal = await ended
  clearInterval(watching)
  return { killed: signal === 'SIGKILL' }
}
