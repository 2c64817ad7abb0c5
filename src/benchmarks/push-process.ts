// The runner of a push in a process of its own, so that its memory is the runner's alone. Reads what to do from its first argument, prints one line
// of JSON.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { type Commit, createContext, parseSettings, type RunEvent, summarise } from '../handoff/index.js'
import { keepHeapSmall } from '../handoff/util/heap.js'

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

keepHeapSmall()
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
  peakMegabytes: await peakMegabytes(),
  steps: {},
}
for (const event of events) {
  if (event.type === 'step-end') report.steps[event.step] = (report.steps[event.step] ?? 0) + event.milliseconds
}
process.stdout.write(`${JSON.stringify(report)}\n`)

/** Linux counts the memory of the parent in `resourceUsage().maxRSS`, up to the moment in which the child's program starts. Not in this file. */
async function peakMegabytes(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '')
  const [, kilobytes = process.resourceUsage().maxRSS] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? []
  return Number(kilobytes) / 1_000
}
