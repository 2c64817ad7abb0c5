// How time, storage, tokens and money grow with a repository, and how long a page of runs or of answers takes as they add up. Draws
// `docs/images/growth.svg`.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { repositoryRoot } from '../cli/sandbox-program.js'
import { type CompletedAnswer, encodeAnswer } from '../handoff/domain/answer.js'
import { encodeHandoff, encodePointer, type Handoff } from '../handoff/domain/handoff-record.js'
import { answerQuestion, artifact, layout, type SummariseResult, summarise } from '../handoff/index.js'
import { measure as measureFiles } from '../handoff/store/inventory.js'
import { sha256 } from '../handoff/store/run-store.js'
import { mapConcurrent } from '../handoff/util/map-concurrent.js'
import { listAnswerPage, listRuns } from '../handoff/workflows/browse.js'
import { type BenchClouds, latency, openBenchClouds } from './bench-clouds.js'
import { drawGrowth, type Series } from './draw-growth.js'

const counts = [1, 10, 100, 1_000]
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
  say(`\nGrowth with runs, and with answers of one run: a page of ${pageSize}, at ${latency.drive} ms to drive9`)
  say('| runs | page, ms | calls to drive9 |')
  say('| ---: | ---: | ---: |')
  const runs = await measurePages(showRuns)
  say('\n| answers | page, ms | calls to drive9 |')
  say('| ---: | ---: | ---: |')
  const answers = await measurePages(showAnswers)

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
      title: 'Milliseconds of a page, by how many there are',
      series: [
        { name: 'runs', points: runs.map(({ count, milliseconds }) => [count, milliseconds]) },
        { name: 'answers', points: answers.map(({ count, milliseconds }) => [count, milliseconds]) },
      ],
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

interface Shelf {
  /** Stores one more, which has this number. */
  add(number: number): Promise<void>
  readPage(): Promise<unknown>
}

interface PageCost {
  count: number
  milliseconds: number
  calls: number
}

/** One record stands for as many as are wanted. */
async function measurePages(
  open: (bench: BenchClouds, made: SummariseResult, signal: AbortSignal) => Promise<Shelf>,
): Promise<PageCost[]> {
  await using bench = await openBenchClouds(20)
  const { clouds, context, commit } = bench
  const signal = AbortSignal.timeout(900_000)
  const shelf = await open(bench, await summarise({ commit, attempt: 'bench' }, context, signal), signal)
  const pages: PageCost[] = []
  let count = 1
  for (const wanted of counts) {
    const more = Array.from({ length: wanted - count }, (_, at) => count + at)
    await mapConcurrent(16, more, shelf.add)
    count = wanted
    bench.slowDown()
    const before = clouds.drive.requests.length
    const start = performance.now()
    await shelf.readPage()
    const page = { count, milliseconds: performance.now() - start, calls: clouds.drive.requests.length - before }
    bench.fullSpeed()
    pages.push(page)
    say(`| ${count} | ${Math.round(page.milliseconds)} | ${page.calls} |`)
  }
  return pages
}

/** Each run is of another commit. */
async function showRuns(bench: BenchClouds, made: SummariseResult, signal: AbortSignal): Promise<Shelf> {
  const { context, commit } = bench
  return {
    add: (number) => copyRun(bench, made, number, signal),
    readPage: () => listRuns(context, commit.repository, { limit: pageSize }, signal),
  }
}

/** Each answer has another id. */
async function showAnswers(bench: BenchClouds, made: SummariseResult, signal: AbortSignal): Promise<Shelf> {
  const { context, commit } = bench
  const { repository } = commit
  const question = { text: 'What does the README say?' }
  const { record, run } = await answerQuestion({ repository, name: { run: made.run }, question }, context, signal)
  return {
    add: (number) => copyAnswer(bench, made, record, number, signal),
    readPage: () => listAnswerPage(context, run, { limit: pageSize }, signal),
  }
}

async function copyAnswer(
  { context }: BenchClouds,
  { directory }: SummariseResult,
  record: CompletedAnswer,
  number: number,
  signal: AbortSignal,
): Promise<void> {
  const id = number.toString(16).padStart(32, '0')
  await context.ports.drive.write(`${directory}/${artifact.answer(id)}`, encodeAnswer({ ...record, id }), { signal })
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
