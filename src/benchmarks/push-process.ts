// The runner of a push in a process of its own, so that its memory is the runner's alone. Reads what to do from its first argument, prints one line
// of JSON.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type Commit, createContext, parseSettings, type RunEvent, summarise } from '../handoff/index.js'

export interface PushTask {
  commit: Commit
  attempt: string
  settings: Record<string, string>
  /** The folder of the built programs. */
  programs: string
}

export interface PushReport {
  milliseconds: number
  peakMegabytes: number
  steps: Record<string, number>
}

const task = JSON.parse(process.argv[2] ?? '{}') as PushTask
const events: RunEvent[] = []
const context = createContext(parseSettings(task.settings), {
  program: (name) => readFile(join(task.programs, `sandbox-${name}.js`), 'utf8'),
  emit: (event) => void events.push(event),
})
// The SDKs are loaded at their first call; that is start-up, which `bench -- action` measures.
await context.ports.sandboxes.find({ handoff: 'warm-up' }, AbortSignal.timeout(20_000))
const start = performance.now()
const { commit, attempt } = task
await summarise({ commit, attempt, force: true }, context, AbortSignal.timeout(600_000))
const report: PushReport = {
  milliseconds: performance.now() - start,
  peakMegabytes: process.resourceUsage().maxRSS / 1_000,
  steps: {},
}
for (const event of events) {
  if (event.type === 'step-end') report.steps[event.step] = (report.steps[event.step] ?? 0) + event.milliseconds
}
process.stdout.write(`${JSON.stringify(report)}\n`)
