// How long a question waits before the model is asked, against what no program could save: a sandbox, a mount and one read, made in the same run.
// Floor and question take turns.
import { performance } from 'node:perf_hooks'
import { answerQuestion, type SummariseResult, summarise } from '../handoff/index.js'
import { type BenchClouds, latency, listed, median, openBenchClouds } from './bench-clouds.js'
import { childProcessorTime } from './child-processor-time.js'
import { wordAt } from './generated-repository.js'

const rounds = 9
const goal = 1.1
const say = (text: string) => process.stdout.write(`${text}\n`)

export async function benchFirstWord(sizes: readonly number[]): Promise<void> {
  say('\nFirst word: milliseconds before the model is asked, against create + mount + one read')
  say(`  latencies in ms: sandbox ${latency.create}, mount ${latency.mount}, a round trip to drive9 ${latency.drive}`)
  for (const files of sizes) {
    await using bench = await openBenchClouds(files)
    await measure(bench, files)
  }
}

interface Round {
  floor: number
  beforeModel: number
  firstPlace: number
  /** Milliseconds of all programs in the sandboxes of this round's question. */
  processor: number
  inside: Map<string, number>
  host: Map<string, number>
}

async function measure(bench: BenchClouds, files: number): Promise<void> {
  const signal = AbortSignal.timeout(900_000)
  const summary = await summarise({ commit: bench.commit, attempt: 'bench' }, bench.context, signal)
  bench.slowDown()
  await askOnce(bench, summary, 0, signal)
  const runs: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    const floor = await measureFloor(bench, summary, signal)
    runs.push({ floor, ...(await askOnce(bench, summary, round, signal)) })
  }
  const tar = summary.handoff.artifacts.find(({ path }) => path.endsWith('.git.tar'))?.bytes ?? 0
  const all = summary.handoff.artifacts.reduce((sum, { bytes }) => sum + bytes, 0)
  say(`  files: ${files}; clone ${megabytes(tar)} MB, all artifacts ${megabytes(all)} MB`)
  say(`    floor, ms:            ${listed(runs.map(({ floor }) => floor))}`)
  say(`    before the model, ms: ${listed(runs.map(({ beforeModel }) => beforeModel))}`)
  say(`    first place, ms:      ${listed(runs.map(({ firstPlace }) => firstPlace))}`)
  say(`    processor time of Sandbox B, ms: ${listed(runs.map(({ processor }) => processor))}`)
  for (const where of ['host', 'inside'] as const) {
    const steps = [...new Set(runs.flatMap((run) => [...run[where].keys()]))]
    const times = steps.map((step) => `${step} ${Math.round(median(runs.map((run) => run[where].get(step) ?? 0)))}`)
    say(`    medians, ${where === 'host' ? 'steps of the host' : 'inside Sandbox B'}: ${times.join(', ')}`)
  }
  const ratio = median(runs.map(({ beforeModel, floor }) => beforeModel / floor))
  say(`    ratio ${ratio.toFixed(2)} (goal ${goal})`)
}

/** The token is issued before, as it is beside the start of a sandbox. */
async function measureFloor({ context }: BenchClouds, run: SummariseResult, signal: AbortSignal): Promise<number> {
  const { drive, sandboxes } = context.ports
  const scope = { prefix: run.directory, operations: ['read' as const, 'list' as const] }
  const token = await drive.issueToken({ ...scope, lifetimeSeconds: 60, subject: 'bench' }, signal)
  const start = performance.now()
  const sandbox = await sandboxes.open({ metadata: { handoff: 'bench' }, lifetimeMs: 60_000, egress: [] }, signal)
  const mount = `drive9 mount --profile=none --no-supervise --read-only --server "$SERVER" ":$REMOTE" "$HOME/run"`
  const { exitCode, stderrTail } = await sandbox.run(`${mount} && cat "$HOME/run/analysis/handoff.json"`, {
    environment: {
      DRIVE9_API_KEY: token.secret,
      DRIVE9_SERVER: drive.server,
      SERVER: drive.server,
      REMOTE: run.directory,
    },
    timeoutMs: 60_000,
    onOutput: () => undefined,
    signal,
  })
  const milliseconds = performance.now() - start
  await Promise.all([sandbox.kill(), drive.revokeToken(token.id, signal)])
  if (exitCode !== 0) throw new Error(`The mount of the floor failed: ${stderrTail}`)
  return milliseconds
}

/** Each round asks for other words, so that no answer is used again. A question that names code asks no model for words. */
async function askOnce(
  bench: BenchClouds,
  { run }: SummariseResult,
  round: number,
  signal: AbortSignal,
): Promise<Omit<Round, 'floor'>> {
  const { context, commit, events, inside } = bench
  const word = (number: number) => wordAt(round * 100 + number)
  const text = `What happens when the ${word(1)}_${word(2)} of a ${word(3)} is removed, and where is the ${word(4)} in it read?`
  events.length = 0
  inside.clear()
  const before = await childProcessorTime()
  const start = performance.now()
  await answerQuestion(
    { repository: commit.repository, name: { run }, question: { text, depth: 'quick' } },
    context,
    signal,
  )
  const asked = events.find(({ event }) => event.type === 'step-start' && /^(?:choose|answer)$/.test(event.step))
  const found = events.find(({ event }) => event.type === 'excerpts-found')
  if (!asked || !found) throw new Error('The model was not asked.')
  const host = new Map<string, number>()
  for (const { event, at } of events) {
    if (event.type !== 'step-end' || at > asked.at) continue
    host.set(event.step, (host.get(event.step) ?? 0) + event.milliseconds)
  }
  const processor = (await childProcessorTime()) - before
  return { processor, beforeModel: asked.at - start, firstPlace: found.at - start, inside: new Map(inside), host }
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
