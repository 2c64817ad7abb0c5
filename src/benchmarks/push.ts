// Wall time of a push against its critical path: the same push without any latency, and behind it the chain of answers that each must be there before
// the next can be asked for. Both kinds take turns. The runner is a process of its own, whose memory is measured.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { repositoryRoot } from '../cli/sandbox-program.js'
import { type BenchClouds, latency, listed, median, openBenchClouds } from './bench-clouds.js'
import { chain } from './end-to-end.js'
import type { PushReport, PushTask } from './push-process.js'

const rounds = 3
const goals = { ratio: 1.1, megabytes: 200 }
const run = promisify(execFile)
const say = (text: string) => process.stdout.write(`${text}\n`)

export async function benchPush(sizes: readonly number[]): Promise<void> {
  say('\nPush: wall time against the critical path, and the memory of the runner')
  say(`  latencies in ms: sandbox ${latency.create}, a round trip to drive9 ${latency.drive}`)
  // Beside the packages that the bundle loads.
  const folder = await mkdtemp(join(repositoryRoot, 'node_modules', '.handoff-bench-'))
  try {
    const program = join(folder, 'push.mjs')
    await build({
      entryPoints: [join(import.meta.dirname, 'push-process.ts')],
      outfile: program,
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      target: 'node24',
      logLevel: 'warning',
    })
    for (const files of sizes) {
      await using bench = await openBenchClouds(files)
      await measure(bench, files, program)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(bench: BenchClouds, files: number, program: string): Promise<void> {
  const fast: PushReport[] = []
  const slow: PushReport[] = []
  const push = (kind: string) => pushOnce(bench, program, `${kind}-${fast.length}-${slow.length}`)
  await push('warm')
  for (let round = 0; round < rounds; round++) {
    fast.push(await push('fast'))
    bench.slowDown()
    slow.push(await push('slow'))
    bench.fullSpeed()
  }
  const inside = median(slow.map(insideOf)) - median(fast.map(insideOf))
  const trips = Object.values(chain.summarise).reduce((sum, count) => sum + count, 0)
  const critical =
    median(fast.map(({ milliseconds }) => milliseconds)) + latency.create + trips * latency.drive + inside
  const wall = median(slow.map(({ milliseconds }) => milliseconds))
  say(`  files: ${files}`)
  say(`    without latency, ms:  ${listed(fast.map(({ milliseconds }) => milliseconds))}`)
  say(`    with latency, ms:     ${listed(slow.map(({ milliseconds }) => milliseconds))}`)
  say(`    medians of the steps: ${stepsOf(slow)}`)
  say(
    `    critical path ${Math.round(critical)} ms: own work, sandbox ${latency.create}, ${trips} round trips of the host, ${Math.round(inside)} of drive9 inside`,
  )
  say(`    ratio ${(wall / critical).toFixed(2)} (goal ${goals.ratio})`)
  say(
    `    peak memory of the runner, MB: ${listed([...fast, ...slow].map(({ peakMegabytes }) => peakMegabytes))} (goal ${goals.megabytes})`,
  )
}

async function pushOnce({ commit, settings }: BenchClouds, program: string, attempt: string): Promise<PushReport> {
  const task: PushTask = { commit, attempt, settings, programs: join(repositoryRoot, 'dist') }
  const { stdout } = await run(process.execPath, [program, JSON.stringify(task)], { maxBuffer: 1 << 24 })
  return JSON.parse(stdout) as PushReport
}

/** Steps inside the sandbox that wait for drive9. */
function insideOf({ steps }: PushReport): number {
  const of = (step: string) => steps[step] ?? 0
  return Math.max(of('mount'), of('clone')) + Math.max(of('store'), of('survey')) + of('drain')
}

function stepsOf(runs: readonly PushReport[]): string {
  const steps = [...new Set(runs.flatMap(({ steps }) => Object.keys(steps)))]
  return steps.map((step) => `${step} ${Math.round(median(runs.map(({ steps }) => steps[step] ?? 0)))}`).join(', ')
}
