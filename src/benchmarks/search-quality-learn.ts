// `npm run eval:learn`: learns the weights of the ranking from questions with known files, and prints them as the table of ranking-weights.ts.
// What it says about quality is of repositories that it did not learn from: each is left out in turn.
import { existsSync } from 'node:fs'
import { appendFile, writeFile } from 'node:fs/promises'
import { type Given, runCommand } from '../cli/command-line.js'
import { HandoffError } from '../handoff/domain/errors.js'
import { rankFiles } from '../handoff/sandbox/program/search/index.js'
import { type Shape, shapes } from '../handoff/sandbox/program/search/question-shape.js'
import { type FileWeights, features, start } from '../handoff/sandbox/program/search/ranking-weights.js'
import { openGround, readLines } from './search-quality-ground.js'
import { asMarkdown, asText, writeSection } from './search-quality-table.js'
import type { Question } from './search-quality-types.js'

const command = {
  name: 'eval:learn',
  description: `Learns the weights of the search's ranking and prints them.

The features of the candidates of each question are kept in a file, because they take long to find. If the file exists,
the weights are learnt from it alone.`,
  options: {
    features: { type: 'string', value: 'FILE', help: 'where features are kept, JSON lines; needed' },
    questions: { type: 'string', multiple: true, value: 'FILE', help: 'as for npm run eval; may be repeated' },
    repositories: { type: 'string', value: 'DIR', help: 'as for npm run eval' },
    cache: { type: 'string', value: 'DIR', help: 'as for npm run eval' },
    without: { type: 'string', multiple: true, value: 'FEATURE', help: 'learn again without it; may be repeated' },
    write: { type: 'string', value: 'FILE', help: 'put the rows into this Markdown file' },
  },
  example: 'eval:learn -- --features features.jsonl --questions questions.jsonl --repositories ../clones',
  cost: 'nothing; no sandbox and no model.',
} as const

/** The candidates of one question. */
interface Example {
  repository: string
  shape: Shape
  /** How many gold files there are. */
  gold: number
  /** Each with its features; the gold files are at these indexes. */
  rows: number[][]
  hits: number[]
}

const mostRows = 100

async function collect(values: Given<typeof command.options>['values']): Promise<void> {
  const { features: out, questions: files, repositories, cache } = values
  if (!out || !files || !repositories) {
    throw new HandoffError(
      'invalid-input',
      'The features are not there yet, and the questions or repositories are missing.',
      {
        next: `Write for instance npm run ${command.example}.`,
      },
    )
  }
  await writeFile(out, '')
  for (const file of files) {
    for (const question of await readLines<Question>(file)) {
      const ground = await openGround(repositories, question.repository, question.commit, cache)
      const { corpus, findDefinitions } = ground.source
      const search = { question: question.question, terms: [], tokens: 12_000, shown: [] }
      const ranking = await rankFiles(corpus, { search, findDefinitions })
      const ranked = ranking.files.slice(0, mostRows)
      const gold = new Set(question.gold.map(({ path }) => path))
      const example: Example = {
        repository: question.repository,
        shape: ranking.shape,
        gold: gold.size,
        rows: ranked.map((one) => [...one.features].map((value) => Math.round(value * 1e4) / 1e4)),
        hits: ranked.flatMap((one, index) => (gold.has(one.file.path) ? [index] : [])),
      }
      await appendFile(out, `${JSON.stringify(example)}\n`)
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
}

const rounds = 200
const step = 0.5
/** Keeps weights near the start that few questions support. More for questions, whose start is good. */
const penalties = { question: 0.02, report: 0.01 }

/** Softmax over the candidates of each question; the gold files share the probability that is wanted. */
function fitWeights(examples: readonly Example[], start: Float64Array, penalty: number): Float64Array {
  const weights = start.slice()
  const gradient = new Float64Array(weights.length)
  const momentum = new Float64Array(weights.length)
  const known = examples.filter(({ hits }) => hits.length > 0)
  if (known.length === 0) return weights
  for (let round = 0; round < rounds; round++) {
    gradient.fill(0)
    for (const { rows, hits } of known) {
      const chances = softmax(rows.map((row) => dot(row, weights)))
      for (const [index, row] of rows.entries()) {
        const error = (hits.includes(index) ? 1 / hits.length : 0) - chances[index]!
        for (let at = 0; at < row.length; at++) gradient[at]! += error * row[at]!
      }
    }
    for (let at = 0; at < weights.length; at++) {
      const slope = gradient[at]! / known.length - penalty * (weights[at]! - start[at]!)
      momentum[at] = 0.9 * momentum[at]! + slope
      weights[at]! += step * momentum[at]!
    }
  }
  return weights
}

function dot(row: readonly number[], weights: Float64Array): number {
  let sum = 0
  for (let at = 0; at < row.length; at++) sum += row[at]! * weights[at]!
  return sum
}

function softmax(scores: number[]): number[] {
  const most = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - most))
  const sum = powers.reduce((all, one) => all + one, 0)
  return powers.map((power) => power / sum)
}

/** Reports are learnt from reports and traces; a trace starts as a report. Few examples have the other shapes. */
function learn(examples: readonly Example[]): Map<Shape, FileWeights> {
  const of = (shape: Shape) => examples.filter((example) => example.shape === shape)
  const question = fitWeights(of('question'), start, penalties.question)
  const report = fitWeights([...of('report'), ...of('trace')], start, penalties.report)
  const trace = fitWeights(of('trace'), report, penalties.report)
  const tables: Record<Shape, FileWeights> = { question, report, trace, name: question, diff: report }
  return new Map(shapes.map((shape) => [shape, tables[shape]]))
}

interface Quality {
  questions: number
  acc1: number
  acc5: number
  acc10: number
  hit5: number
}

function judge(examples: readonly Example[], tables: ReadonlyMap<Shape, Float64Array>): Quality {
  const quality: Quality = { questions: examples.length, acc1: 0, acc5: 0, acc10: 0, hit5: 0 }
  for (const { rows, hits, gold, shape } of examples) {
    const weights = tables.get(shape)!
    const order = rows.map((row, index) => ({ index, score: dot(row, weights) })).sort((a, b) => b.score - a.score)
    const within = (most: number) => order.slice(0, most).filter(({ index }) => hits.includes(index)).length
    quality.acc1 += Number(within(1) === gold)
    quality.acc5 += Number(within(5) === gold)
    quality.acc10 += Number(within(10) === gold)
    quality.hit5 += Number(within(5) > 0)
  }
  return quality
}

function rowOf(name: string, { questions, acc1, acc5, acc10, hit5 }: Quality): string[] {
  return [name, String(questions), ...[acc1, acc5, acc10, hit5].map((count) => ((100 * count) / questions).toFixed(1))]
}

/** Each repository is judged by what the others teach. */
function leaveOut(examples: readonly Example[]): Map<string, Quality> {
  const all: Quality = { questions: 0, acc1: 0, acc5: 0, acc10: 0, hit5: 0 }
  const byRepository = new Map<string, Quality>()
  for (const [repository, ours] of Map.groupBy(examples, (example) => example.repository)) {
    const quality = judge(ours, learn(examples.filter((example) => example.repository !== repository)))
    byRepository.set(repository, quality)
    for (const key of Object.keys(all) as (keyof Quality)[]) all[key] += quality[key]
  }
  return byRepository.set('all', all)
}

function withoutFeature(examples: readonly Example[], feature: string): Example[] {
  const gone = features.indexOf(feature)
  return examples.map((example) => ({
    ...example,
    rows: example.rows.map((row) => row.map((value, at) => (at === gone ? 0 : value))),
  }))
}

/** The tables as they stand in ranking-weights.ts. */
function printTables(learnt: ReadonlyMap<Shape, FileWeights>): string {
  const cell = (weight: number, at: number) =>
    Math.abs(weight) < 0.05 ? [] : `${features[at]} ${Math.round(weight * 100) / 100}`
  return [...learnt].map(([shape, weights]) => `${shape}: '${[...weights].flatMap(cell).join(' ')}'`).join('\n')
}

const section = 'Learnt weights'
const remark =
  'Reports of issues and of histories. Each repository is ranked with weights that were learnt from the others; in the rows below, without one feature.'

async function run({ values }: Given<typeof command.options>): Promise<void> {
  if (!values.features || !existsSync(values.features)) await collect(values)
  const examples = await readLines<Example>(values.features!)
  const unknown = values.without?.find((feature) => !features.includes(feature))
  if (unknown !== undefined) {
    throw new HandoffError('invalid-input', `There is no feature ${JSON.stringify(unknown)}.`, {
      next: `There are ${features.join(', ')}.`,
    })
  }
  const asIs = judge(examples, new Map(shapes.map((shape) => [shape, start])))
  const removed = (values.without ?? []).map((feature) =>
    rowOf(`without: ${feature}`, leaveOut(withoutFeature(examples, feature)).get('all')!),
  )
  const rows = [
    ['left out', 'asked', 'Acc@1', 'Acc@5', 'Acc@10', 'hit@5'],
    ...[...leaveOut(examples)].map(([name, quality]) => rowOf(name, quality)),
    rowOf('nothing learnt', asIs),
    ...removed,
  ]
  process.stdout.write(`${asText(rows)}\n\n${printTables(learn(examples))}\n`)
  if (values.write) await writeSection(values.write, section, [remark, asMarkdown(rows)])
}

await runCommand(command, run)
