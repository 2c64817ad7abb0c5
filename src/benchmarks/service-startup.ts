// How quick the service is: what a refusal, a health check and a stored answer load and cost beside an empty function, what a first request
// costs beside the two SDKs alone, and two hundred questions at once.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repositoryRoot } from '../cli/sandbox-program.js'
import { buildFunction, buildFunctions } from '../emulators/vercel/build.js'
import { type RunningFunctions, startFunctions } from '../emulators/vercel/start.js'
import { type Cold, coldImport, coldRun } from './cold-process.js'
import { timeEntryPoints } from './entry-points.js'
import { ask, type ServiceBed, startBed } from './service-fixture.js'

const runs = 12
const say = (text: string) => process.stdout.write(`${text}\n`)

interface ServiceLine {
  what: string
  value: number
  /** The goal; absent where a line only tells what another is to be seen beside. */
  most?: number
}

export async function benchService(): Promise<ServiceLine[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-service-'))
  const built = await buildFunctions(repositoryRoot)
  await using bed = await startBed()
  try {
    const lines = [...(await benchStart(bed, built.directory, folder)), ...(await benchCold(bed, built.directory))]
    lines.push(...(await benchEntryPoints(bed)))
    lines.push(...(await benchMany(bed)))
    for (const { what, value, most } of lines) {
      const judged = most === undefined ? 'beside' : value <= most ? 'within' : 'OVER  '
      say(`${judged}  ${what}: ${value.toFixed(2)}${most === undefined ? '' : ` (at most ${most})`}`)
    }
    return lines
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const smallest = (numbers: number[]) => Math.min(...numbers)
const middle = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
const shown = (numbers: number[]) => numbers.map((one) => one.toFixed(0)).join(' ')

/** What the subjects are compared with, built by the same builder. */
const yardsticks = {
  'empty function': "export default { fetch: () => new Response('{}') }\n",
  // The minimum work for a stored answer: hash the caller's token, read three files concurrently, hash and parse them, reply.
  'floor of a stored answer': `import { createHash } from 'node:crypto'
import { get } from 'node:http'
import { buffer } from 'node:stream/consumers'
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const headers = { authorization: 'Bearer ' + process.env.DRIVE9_API_KEY }
const read = async (url: string) => buffer(await new Promise((answered) => get(url, { headers }, answered)))
export default {
  async fetch(request: Request) {
    const asked = await request.json()
    const caller = sha256(request.headers.get('authorization') ?? '')
    const files = await Promise.all(JSON.parse(process.env.BENCH_READS ?? '[]').map(read))
    const hashes = files.map(sha256)
    const records = files.map((bytes: Buffer) => JSON.parse(bytes.toString()))
    return new Response(JSON.stringify({ asked, caller, hashes, records }))
  },
}
`,
}

/** Where each of them is, once built. */
async function buildYardsticks(folder: string): Promise<Map<string, string>> {
  const root = join(folder, 'yardsticks')
  await mkdir(join(root, 'api'), { recursive: true })
  await writeFile(join(root, 'package.json'), '{ "type": "module", "engines": { "node": "24.x" } }')
  const built = Object.entries(yardsticks).map(async ([name, text], index) => {
    await writeFile(join(root, `api/y${index}.ts`), `// @ts-nocheck\n${text}`)
    await buildFunction(root, folder, `api/y${index}`, {})
    return [name, join(folder, `api/y${index}.func/api/y${index}.js`)] as const
  })
  return new Map(await Promise.all(built))
}

/** Subjects take turns, so that a busy moment of the machine meets all of them. */
async function benchStart(bed: ServiceBed, directory: string, folder: string): Promise<ServiceLine[]> {
  const yardstick = await buildYardsticks(folder)
  const of = (name: string) => join(directory, `api/${name}.func/api/${name}.js`)
  const question = bed.question('What is measured first?')
  await ask(bed.url, bed.token, question)
  const reads = await bed.readsOf(() => ask(bed.url, bed.token, question))
  const environment = { ...bed.environment, BENCH_READS: JSON.stringify(reads) }
  const asking = { path: '/api/ask', body: question, token: bed.token, environment }
  const subjects: Record<string, Cold> = {
    'empty function': { ...asking, file: yardstick.get('empty function')! },
    'health check': { file: of('health'), path: '/api/health', environment },
    refusal: { file: of('ask'), path: '/api/ask', body: question, environment },
    'stored answer': { ...asking, file: of('ask') },
    'floor of a stored answer': { ...asking, file: yardstick.get('floor of a stored answer')! },
  }
  const taken = await inTurns(subjects)
  say(`process start to answer, in ms; load of the module. A stored answer reads ${reads.length} files.`)
  for (const [name, { wall, load, status }] of taken)
    say(`  ${name.padEnd(24)} ${shown(wall)}; ${shown(load)}; ${status}`)
  const best = (name: string) => smallest(taken.get(name)!.wall)
  const lines: ServiceLine[] = []
  for (const name of ['health check', 'refusal', 'stored answer']) {
    const { loaded } = await coldRun({ ...subjects[name]!, listing: true })
    lines.push({ what: `${name}: load of the module in ms`, value: smallest(taken.get(name)!.load) })
    lines.push({ what: `${name}: ratio to an empty function`, value: best(name) / best('empty function'), most: 1.7 })
    lines.push({ what: `${name}: SDKs loaded`, value: await countSdks(loaded), most: 0 })
  }
  const floor = best('floor of a stored answer')
  lines.push({ what: 'floor of a stored answer: ratio to an empty function', value: floor / best('empty function') })
  lines.push({ what: 'stored answer: ratio to its floor', value: best('stored answer') / floor })
  return lines
}

async function inTurns(subjects: Record<string, Cold>) {
  const taken = new Map(
    Object.keys(subjects).map((name) => [name, { wall: [] as number[], load: [] as number[], status: 0 }]),
  )
  for (let round = 0; round < runs; round += 1) {
    for (const [name, subject] of Object.entries(subjects)) {
      const { wall, load, status } = await coldRun(subject)
      const there = taken.get(name)!
      there.wall.push(wall)
      there.load.push(load)
      there.status = status
    }
  }
  return taken
}

/** Files with words in them that only an SDK has. */
async function countSdks(loaded: string[]): Promise<number> {
  const files = loaded.filter((url) => url.startsWith('file:'))
  const texts = await Promise.all(files.map((url) => readFile(new URL(url), 'utf8')))
  return texts.filter((text) => /e2b-js-sdk|x-stainless-/i.test(text)).length
}

/**
 * What a first request costs more than the second one of the same process, beside the import of the two packages alone, as they are installed.
 * Both wait for programs in a machine, whose time varies by more than what is looked for; so of all processes the one in the middle counts, and
 * not the luckiest.
 */
async function benchCold(bed: ServiceBed, directory: string): Promise<ServiceLine[]> {
  const cold: number[] = []
  const warm: number[] = []
  const alone: number[] = []
  const file = join(directory, 'api/ask.func/api/ask.js')
  for (let round = 0; round < runs; round += 1) {
    const body = bed.question(`What is asked cold, time ${round}?`)
    const again = bed.question(`What is asked warm, time ${round}?`)
    const run = await coldRun({ file, path: '/api/ask', body, again, token: bed.token, environment: bed.environment })
    cold.push(run.load + run.first)
    warm.push(run.second)
    alone.push(await coldImport(['e2b', 'openai']))
  }
  say(`first request of a process, in ms: ${shown(cold)}`)
  say(`second request, in ms: ${shown(warm)}`)
  say(`importing e2b and openai alone, in ms: ${shown(alone)}`)
  const more = cold.map((milliseconds, round) => milliseconds - warm[round]!)
  say(`what the first costs more, in ms: ${shown(more)}`)
  return [{ what: 'first request beside the SDKs alone', value: middle(more) / middle(alone), most: 1.3 }]
}

async function benchEntryPoints(bed: ServiceBed): Promise<ServiceLine[]> {
  const times = await timeEntryPoints(bed)
  for (const [name, taken] of times)
    say(`a stored answer over ${name}, in ms: ${taken.map((one) => one.toFixed(1)).join(' ')}`)
  const beside = (name: string) => middle(times.get(name)!) / middle(times.get('/api/ask')!)
  return ['/api/mcp', '/v1'].map((name) => ({
    what: `stored answer over ${name}: ratio to /api/ask, once loaded`,
    value: beside(name),
    most: 1.2,
  }))
}

const questionsAtOnce = 200
/** Asked afterwards, twice: an instance takes its room during the first of them, and only one that keeps something for each question takes more then. */
const questionsAgain = 60

async function benchMany(bed: ServiceBed): Promise<ServiceLine[]> {
  const built = await buildFunctions(repositoryRoot)
  const start = () => startFunctions({ root: repositoryRoot, environment: bed.environment, built })
  const instances = await Promise.all([start(), start(), start()])
  const largest = async (of: (one: RunningFunctions) => Promise<number>) =>
    Math.max(...(await Promise.all(instances.map(of))))
  const levels: { resident: number; held: number }[] = []
  const look = async () => {
    const resident = await largest(async (one) => (await one.state()).memory)
    levels.push({ resident, held: await largest(async (one) => (await one.held()).held) })
  }
  await wave(bed, instances, 'What warms the instances', 3)
  await look()
  let most = 0
  const watching = setInterval(() => {
    most = Math.max(most, bed.living())
  }, 20)
  const first = await wave(bed, instances, 'What is it about', questionsAtOnce)
  await look()
  const second = await wave(bed, instances, 'What is asked again', questionsAgain)
  await look()
  const third = await wave(bed, instances, 'What is asked at last', questionsAgain)
  await look()
  clearInterval(watching)
  const waves = [first, second, third]
  for (const { milliseconds, counts, asked } of waves)
    say(`${asked} questions at once, three instances, 20 sandboxes: ${milliseconds} ms; ${counts}`)
  say(`at most ${most} sandboxes at once`)
  const shownLevels = levels.map((one) => `${(one.resident / 1e6).toFixed(0)} (held ${(one.held / 1e6).toFixed(0)})`)
  say(`largest memory of an instance in MB, before and after each wave: ${shownLevels.join(', ')}`)
  await Promise.all(instances.map((one) => one.close()))
  const [before, grown, last] = [levels[0]!, levels.at(-2)!, levels.at(-1)!]
  return [
    { what: 'sandboxes at once', value: most, most: 20 },
    {
      what: 'questions neither answered nor given a time at which to come back',
      value: waves.reduce((sum, { unexplained }) => sum + unexplained, 0),
      most: 0,
    },
    { what: 'sandboxes left', value: bed.living(), most: 0 },
    { what: 'memory after the last wave beside the one before', value: last.resident / grown.resident, most: 1.15 },
    { what: 'bytes held after the last wave beside before any', value: last.held / before.held, most: 1.5 },
  ]
}

interface Wave {
  asked: number
  milliseconds: number
  counts: string
  unexplained: number
}

/** So many different questions at once, over all instances. */
async function wave(bed: ServiceBed, instances: RunningFunctions[], words: string, asked: number): Promise<Wave> {
  const started = Date.now()
  const answers = await Promise.all(
    Array.from({ length: asked }, async (_none, index) => {
      const { url } = instances[index % instances.length]!
      const { status, headers } = await ask(url, bed.token, bed.question(`${words}, number ${index}?`))
      return { status, isExplained: status === 200 || Number(headers.get('retry-after')) > 0 }
    }),
  )
  const counts = Object.entries(Object.groupBy(answers, ({ status }) => String(status)))
    .map(([status, list]) => `${list!.length} × ${status}`)
    .join(', ')
  return {
    asked,
    milliseconds: Date.now() - started,
    counts,
    unexplained: answers.filter(({ isExplained }) => !isExplained).length,
  }
}
