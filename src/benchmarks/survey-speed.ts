// How long a survey takes against its floor: a Node that reads every tracked file once, from a work tree that is in memory already. Floor and
// survey take turns, each in a process of its own, its start included; what counts is the ratio of neighbours, so that a busy machine weighs
// on both. The survey works on a bare clone, one commit deep, as in a sandbox.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { childProcessorTime } from './child-processor-time.js'
import { type Place, prepare } from './survey-fixture.js'
import type { ChildReport } from './survey-process.js'

const rounds = 5
const textBytes = 1_600_000
/** A small nursery: the time is the same, the memory a third less. */
const flags = ['--max-semi-space-size=4']
const run = promisify(execFile)
const say = (text: string) => process.stdout.write(`${text}\n`)

interface Bench {
  folder: string
  child: string
  idleKilobytes: number
}

interface Measured extends ChildReport {
  milliseconds: number
  /** Its git counts too. */
  processorMs: number
}

/** Prints every run. Needs git, tar and room for a copy of each repository in the folder for temporary files. */
export async function benchSurvey(repositories: readonly string[], withRepomix: boolean): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'survey-bench-'))
  try {
    const child = await bundleChild(folder)
    const bench: Bench = { folder, child, idleKilobytes: (await start(child, ['idle'])).kilobytes }
    say(
      `\nSurvey: ${textBytes} bytes of text, ${rounds} rounds, floor and survey by turns; idle Node has ${megabytes(bench.idleKilobytes)} MB`,
    )
    for (const repository of repositories) {
      const place = await prepare(bench.folder, repository)
      await measure(bench, place)
      if (withRepomix) say(`    repomix, ms:        ${list(await repomixTimes(bench, place))}`)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function bundleChild(folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs')
  await build({
    entryPoints: [join(import.meta.dirname, 'survey-process.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minify: true,
    logLevel: 'warning',
  })
  return outfile
}

async function start(child: string, words: string[]): Promise<Measured> {
  const begin = performance.now()
  const before = await childProcessorTime()
  const program = spawn(process.execPath, [...flags, child, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
  const output: Buffer[] = []
  program.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  const code = await new Promise((resolve) => program.once('close', resolve))
  if (code !== 0) throw new Error(`${words[0]} ended with ${String(code)}.`)
  const milliseconds = performance.now() - begin
  const processorMs = (await childProcessorTime()) - before
  return { milliseconds, processorMs, ...(JSON.parse(Buffer.concat(output).toString()) as ChildReport) }
}

interface Round {
  idle: Measured
  floor: Measured
  survey: Measured
  /** Milliseconds that git takes to list the commit. */
  list: number
}

/** Another packer of whole repositories, from npm; the first run may download it and does not count. */
const repomix = 'repomix@1.18.1'

async function repomixTimes({ folder }: Bench, { tree }: Place): Promise<number[]> {
  const times: number[] = []
  for (let round = 0; round <= 2; round++) {
    const begin = performance.now()
    const output = join(folder, 'repomix.xml')
    await run('npx', ['--yes', repomix, '--quiet', '--output', output, tree], { cwd: folder, maxBuffer: 1e9 })
    if (round > 0) times.push(performance.now() - begin)
  }
  return times
}

const ratios = (runs: readonly Round[]) => runs.map((row) => row.survey.milliseconds / row.floor.milliseconds)

async function listing({ git, commit }: Place): Promise<number> {
  const begin = performance.now()
  await run('git', ['-C', git, 'ls-tree', '-r', '-t', '-z', '-l', '--full-tree', commit], { maxBuffer: 1e9 })
  return performance.now() - begin
}

async function measure(bench: Bench, place: Place): Promise<number> {
  const survey = (...more: string[]) =>
    start(bench.child, ['survey', place.git, place.commit, String(textBytes), ...more])
  const floor = () => start(bench.child, ['floor', place.tree, place.list])
  await floor()
  const first = await survey('count')
  const runs: Round[] = []
  for (let round = 0; round < rounds; round++) {
    runs.push({
      idle: await start(bench.child, ['idle']),
      floor: await floor(),
      survey: await survey(),
      list: await listing(place),
    })
  }
  const over = runs.map((row) => row.survey.milliseconds - row.floor.milliseconds)
  const memory = median(runs.map((row) => row.survey.kilobytes)) - bench.idleKilobytes
  say(
    `  ${place.name}: ${first.files} files, ${Math.round(runs[0]!.floor.bytes / 1e5) / 10} MB; text that may be chosen ${Math.round(first.bytes / 1e5) / 10} MB`,
  )
  say(`    an empty Node, ms:  ${list(runs.map((row) => row.idle.milliseconds))}`)
  say(`    git's list, ms:     ${list(runs.map((row) => row.list))}`)
  say(`    floor, ms:          ${list(runs.map((row) => row.floor.milliseconds))}`)
  say(`    survey, ms:         ${list(runs.map((row) => row.survey.milliseconds))}`)
  say(
    `    survey ÷ floor:     ${times(median(ratios(runs)))} (goal for a large one 3.0), over the floor ${Math.round(median(over))} ms (goal for a small one 200)`,
  )
  const work = (of: (row: Round) => Measured) => median(runs.map((row) => of(row).processorMs))
  const [floorMs, surveyMs] = [work((row) => row.floor), work((row) => row.survey)]
  say(
    `    processor time:     floor ${floorMs} ms, survey ${surveyMs} ms with its git, ${times(surveyMs / floorMs)} (medians)`,
  )
  say(
    `    memory over idle:   ${megabytes(memory)} MB, ${times((memory * 1024) / first.bytes)} of the text that may be chosen (goal 2.0)${first.bytes < 10e6 ? ': nearly all of it is what V8 takes for any such program' : ''}`,
  )
  return first.files
}

const list = (values: number[]) => values.map(Math.round).join(', ')
const times = (value: number) => `${value.toFixed(2)} ×`
const megabytes = (kilobytes: number) => Math.round(kilobytes / 102.4) / 10

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
