// What a dead process leaves running is found from outside by what is written on it, and ended: as the sweep does it, for one scenario.
import type { Scenario, TestProcess } from './scenario.js'
import type { ScriptedStack } from './scripted-stack.js'

export interface SweepResult {
  /** Machines that had lost their owner. */
  count: number
  /** Those that could not be found or ended. */
  wrong: string[]
}

export async function sweepOrphans(stack: ScriptedStack, place: Scenario, process: TestProcess): Promise<SweepResult> {
  const signal = AbortSignal.timeout(60_000)
  const { sandboxes } = process.context.ports
  const found = await sandboxes.find({ handoff: '1', scenario: place.name }, signal)
  await Promise.all(found.map(({ id }) => sandboxes.kill(id, signal)))
  const left = stack.clouds.sandboxes.sandboxes.filter(
    ({ state, metadata }) => state !== 'gone' && metadata['scenario'] === place.name,
  )
  return { count: found.length, wrong: left.map(({ id }) => `sandbox ${id} was not found by its metadata`) }
}
