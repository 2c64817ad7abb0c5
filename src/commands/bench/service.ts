// How quick the service is: what a refusal, a health check and a stored answer load and cost beside an empty function, what a first request
// costs beside the two SDKs alone, how soon the first word comes beside its critical path, and two hundred questions at once.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RunningFunctions, startFunctions } from '../../local/functions.js'
import { buildFunctions } from '../../local/functions-build.js'
import { repositoryRoot } from '../program.js'
import { ask, type Cold, coldRun, firstWord, type ServiceBed, startBed } from './service-bed.js'

const runs = 12
const say = (text: string) => process.stdout.write(`${text}\n`)

export interface ServiceLine {
  what: string
  value: number
  most: number
}

export async function benchService(): Promise<ServiceLine[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-service-'))
  const built = await buildFunctions(repositoryRoot)
  await using bed = await startBed()
  try {
    const lines = [...(await benchStart(bed, built.directory, folder)), ...(await benchCold(bed, built.directory))]
    lines.push(await benchFirstWord(bed))
    lines.push(...(await benchMany(bed)))
    for (const { what, value, most } of lines)
      say(`${value <= most ? 'within' : 'OVER  '}  ${what}: ${value.toFixed(2)} (at most ${most})`)
    return lines
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const smallest = (numbers: number[]) => Math.min(...numbers)
const shown = (numbers: number[]) => numbers.map((one) => one.toFixed(0)).join(' ')

/** Subjects take turns, so that a busy moment of the machine meets all of them. */
async function benchStart(bed: ServiceBed, directory: string, folder: string): Promise<ServiceLine[]> {
  const empty = join(folder, 'empty')
  await mkdir(empty, { recursive: true })
  await writeFile(join(empty, 'package.json'), '{"type":"module"}')
  await writeFile(join(empty, 'empty.js'), "export default { fetch: () => new Response('{}') }\n")
  const of = (name: string) => join(directory, `api/${name}.func/api/${name}.js`)
  const question = bed.question('What is measured first?')
  await ask(bed.url, bed.token, question)
  const subjects: Record<string, Cold> = {
    'empty function': { file: join(empty, 'empty.js'), path: '/', environment: bed.environment },
    'health check': { file: of('health'), path: '/api/health', environment: bed.environment },
    refusal: { file: of('ask'), path: '/api/ask', body: question, environment: bed.environment },
    'stored answer': {
      file: of('ask'),
      path: '/api/ask',
      body: question,
      token: bed.token,
      environment: bed.environment,
    },
  }
  const times = new Map(Object.keys(subjects).map((name) => [name, { wall: [] as number[], load: [] as number[] }]))
  for (let round = 0; round < runs; round += 1) {
    for (const [name, subject] of Object.entries(subjects)) {
      const { wall, load } = await coldRun(subject)
      times.get(name)!.wall.push(wall)
      times.get(name)!.load.push(load)
    }
  }
  say('process start to answer, in ms; load of the module')
  for (const [name, { wall, load }] of times) say(`  ${name.padEnd(16)} ${shown(wall)}; ${shown(load)}`)
  const base = smallest(times.get('empty function')!.wall)
  const lines: ServiceLine[] = []
  for (const [name, { wall, load }] of [...times].slice(1)) {
    const { sdks } = await coldRun({ ...subjects[name]!, listing: true })
    lines.push({ what: `${name}: load of the module in ms`, value: smallest(load), most: 15 })
    lines.push({ what: `${name}: ratio to an empty function`, value: smallest(wall) / base, most: 1.5 })
    lines.push({ what: `${name}: SDKs loaded`, value: sdks, most: 0 })
  }
  return lines
}

/** What a first request costs more than a second one, beside the import of the two SDKs alone. */
async function benchCold(bed: ServiceBed, directory: string): Promise<ServiceLine[]> {
  const cold: number[] = []
  const alone: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const file = join(directory, 'api/ask.func/api/ask.js')
    const first = bed.question(`What is asked cold, time ${round}?`)
    const second = bed.question(`What is asked warm, time ${round}?`)
    const run = await coldRun({
      file,
      path: '/api/ask',
      body: first,
      again: second,
      token: bed.token,
      environment: bed.environment,
    })
    cold.push(run.load + run.first - run.second)
    alone.push((await coldRun({ file, path: '', importing: ['e2b', 'openai'], environment: {} })).load)
  }
  say(`first request over a second one, in ms: ${shown(cold)}`)
  say(`importing e2b and openai alone, in ms: ${shown(alone)}`)
  return [{ what: 'first request beside the SDKs alone', value: smallest(cold) / smallest(alone), most: 1.3 }]
}

async function benchFirstWord(bed: ServiceBed): Promise<ServiceLine> {
  const takeBack = bed.slow()
  const ratios: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const { total, path } = await firstWord(bed, `What comes first, time ${round}?`)
    say(`first word after ${total.toFixed(0)} ms; its critical path ${path.toFixed(0)} ms`)
    ratios.push(total / path)
  }
  takeBack()
  return { what: 'first word beside its critical path', value: smallest(ratios), most: 1.1 }
}

const questionsAtOnce = 200
/** Asked afterwards: a service that keeps something for each question has more after these than before. */
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
    levels.push({ resident, held: await largest((one) => one.held()) })
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
  clearInterval(watching)
  for (const { milliseconds, counts, asked } of [first, second])
    say(`${asked} questions at once, three instances, 20 sandboxes: ${milliseconds} ms; ${counts}`)
  say(`at most ${most} sandboxes at once`)
  const shownLevels = levels.map((one) => `${(one.resident / 1e6).toFixed(0)} (held ${(one.held / 1e6).toFixed(0)})`)
  say(`largest memory of an instance in MB, before, after the first wave, after the second: ${shownLevels.join(', ')}`)
  await Promise.all(instances.map((one) => one.close()))
  const [before, after, again] = levels as [(typeof levels)[0], (typeof levels)[0], (typeof levels)[0]]
  return [
    { what: 'sandboxes at once', value: most, most: 20 },
    {
      what: 'questions neither answered nor told when to come back',
      value: first.untold + second.untold,
      most: 0,
    },
    { what: 'sandboxes left', value: bed.living(), most: 0 },
    { what: 'memory after the second wave beside the first', value: again.resident / after.resident, most: 1.15 },
    { what: 'bytes held after the second wave beside before any', value: again.held / before.held, most: 1.5 },
  ]
}

interface Wave {
  asked: number
  milliseconds: number
  counts: string
  untold: number
}

/** So many different questions at once, over all instances. */
async function wave(bed: ServiceBed, instances: RunningFunctions[], words: string, asked: number): Promise<Wave> {
  const started = Date.now()
  const answers = await Promise.all(
    Array.from({ length: asked }, async (_none, index) => {
      const { url } = instances[index % instances.length]!
      const { status, headers } = await ask(url, bed.token, bed.question(`${words}, number ${index}?`))
      return { status, told: status === 200 || Number(headers.get('retry-after')) > 0 }
    }),
  )
  const counts = Object.entries(Object.groupBy(answers, ({ status }) => String(status)))
    .map(([status, list]) => `${list!.length} × ${status}`)
    .join(', ')
  return { asked, milliseconds: Date.now() - started, counts, untold: answers.filter(({ told }) => !told).length }
}
