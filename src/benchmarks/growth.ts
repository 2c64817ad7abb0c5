// How time, storage, tokens and money grow with a repository, and how long a page of runs takes as runs add up. Draws `docs/images/growth.svg`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { repositoryRoot } from '../cli/sandbox-program.js'
import { encodeHandoff, encodePointer, type Handoff } from '../handoff/domain/handoff-record.js'
import { answerQuestion, artifact, layout, type SummariseResult, summarise } from '../handoff/index.js'
import { measure as measureFiles } from '../handoff/store/inventory.js'
import { sha256 } from '../handoff/store/run-store.js'
import { mapConcurrent } from '../handoff/util/map-concurrent.js'
import { listRuns } from '../handoff/workflows/browse.js'
import { type BenchClouds, latency, openBenchClouds } from './bench-clouds.js'
import { drawGrowth, type Series } from './draw-growth.js'

const runCounts = [1, 10, 100, 1_000]
const pageSize = 20
const say = (text: string) => process.stdout.write(`${text}\n`)

interface Row {
  files: number
  pushSeconds: number
  questionSeconds: number
  megabytes: number
  indexMegabytes: number
  remoteFiles: number
  pushTokens: number
  questionTokens: number
  dollars: number
}

export async function benchGrowth(sizes: readonly number[]): Promise<void> {
  say('\nGrowth with the repository: one push and one question each, without latency')
  say(
    '| files | push, s | question, s | drive9, MB | of it the search index, MB | remote files | tokens of the push | … of the question | cost, $ |',
  )
  say('| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
  const rows: Row[] = []
  for (const files of sizes) {
    await using bench = await openBenchClouds(files)
    const row = await measureSize(bench, files)
    rows.push(row)
    const {
      pushSeconds,
      questionSeconds,
      megabytes,
      indexMegabytes,
      remoteFiles,
      pushTokens,
      questionTokens,
      dollars,
    } = row
    say(
      `| ${files} | ${pushSeconds.toFixed(1)} | ${questionSeconds.toFixed(1)} | ${megabytes.toFixed(1)} | ${indexMegabytes.toFixed(2)} | ${remoteFiles} | ${pushTokens} | ${questionTokens} | ${dollars.toFixed(3)} |`,
    )
  }
  say(`\nGrowth with the runs: a page of ${pageSize}, at ${latency.drive} ms to drive9`)
  say('| runs | page, ms | calls to drive9 |')
  say('| ---: | ---: | ---: |')
  const pages = await measurePages()
  for (const { runs, milliseconds, calls } of pages) say(`| ${runs} | ${Math.round(milliseconds)} | ${calls} |`)

  const bySize = (name: string, value: (row: Row) => number): Series => ({
    name,
    points: rows.map((row) => [row.files, value(row)]),
  })
  const plot = drawGrowth([
    {
      title: 'Seconds, by files',
      series: [bySize('push', (row) => row.pushSeconds), bySize('question', (row) => row.questionSeconds)],
    },
    {
      title: 'MB on drive9, by files',
      series: [bySize('all', (row) => row.megabytes), bySize('search index', (row) => row.indexMegabytes)],
    },
    {
      title: 'Tokens, by files',
      series: [bySize('push', (row) => row.pushTokens), bySize('question', (row) => row.questionTokens)],
    },
    {
      title: 'Milliseconds of a page, by runs',
      series: [{ name: 'page of runs', points: pages.map(({ runs, milliseconds }) => [runs, milliseconds]) }],
    },
  ])
  await writeFile(join(repositoryRoot, 'docs', 'images', 'growth.svg'), plot)
  say('\nThe plot is in docs/images/growth.svg.')
}

async function measureSize({ context, commit }: BenchClouds, files: number): Promise<Row> {
  const signal = AbortSignal.timeout(900_000)
  const start = performance.now()
  const made = await summarise({ commit, attempt: 'bench' }, context, signal)
  const pushed = performance.now()
  const stored = await measureFiles(context.ports.drive, made.directory, signal)
  const asking = performance.now()
  const question = { text: 'What happens when the first_entry is removed, and where is it read?' }
  const { record } = await answerQuestion(
    { repository: commit.repository, name: { run: made.run }, question },
    context,
    signal,
  )
  const usage = record.status === 'done' ? record.usage : { inputTokens: 0, outputTokens: 0 }
  const dollars = [made.handoff.cost, record.status === 'done' ? record.cost : undefined].map(
    (cost) => cost?.amount ?? 0,
  )
  const isIndex = ({ path }: { path: string }) => path === artifact.searchTable || path === artifact.searchPages
  const indexBytes = made.handoff.artifacts.filter(isIndex).reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    files,
    pushSeconds: (pushed - start) / 1_000,
    questionSeconds: (performance.now() - asking) / 1_000,
    megabytes: stored.bytes / 1e6,
    indexMegabytes: indexBytes / 1e6,
    remoteFiles: stored.files,
    pushTokens: made.handoff.usage.inputTokens + made.handoff.usage.outputTokens,
    questionTokens: usage.inputTokens + usage.outputTokens,
    dollars: dollars.reduce((sum, amount) => sum + amount, 0),
  }
}

/** The record of one run stands for as many as are wanted, each under another commit. */
async function measurePages(): Promise<{ runs: number; milliseconds: number; calls: number }[]> {
  await using bench = await openBenchClouds(20)
  const { clouds, context, commit } = bench
  const signal = AbortSignal.timeout(900_000)
  const made = await summarise({ commit, attempt: 'bench' }, context, signal)
  const pages = []
  let runs = 1
  for (const wanted of runCounts) {
    const more = Array.from({ length: wanted - runs }, (_, at) => runs + at)
    await mapConcurrent(16, more, (number) => copyRun(bench, made, number, signal))
    runs = wanted
    bench.slowDown()
    const before = clouds.drive.requests.length
    const start = performance.now()
    await listRuns(context, commit.repository, { limit: pageSize }, signal)
    pages.push({ runs, milliseconds: performance.now() - start, calls: clouds.drive.requests.length - before })
    bench.fullSpeed()
  }
  return pages
}

async function copyRun(
  { context, commit }: BenchClouds,
  made: SummariseResult,
  number: number,
  signal: AbortSignal,
): Promise<void> {
  const { drive } = context.ports
  const place = layout(context.root, commit.repository)
  const sha = number.toString(16).padStart(40, '0')
  const run = `${sha}-bench` as Handoff['run']
  const bytes = encodeHandoff({ ...made.handoff, run, commit: sha })
  await drive.write(`${place.run(run)}/${artifact.handoff}`, bytes, { signal })
  await drive.write(
    place.pointer(sha),
    encodePointer({ version: 1, run, handoff: sha256(bytes), sealedAt: made.handoff.sealedAt }),
    { signal },
  )
}
