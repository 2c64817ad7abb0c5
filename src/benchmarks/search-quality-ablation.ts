// `npm run eval:ablation`: what each part of the search gives. Every question is asked once of the whole search and once without each part.
import { basename } from 'node:path'
import { type Given, runCommand } from '../cli/command-line.js'
import { HandoffError } from '../handoff/index.js'
import type { CommitSource } from '../handoff/sandbox/program/search/commit-source.js'
import { findInCorpus } from '../handoff/sandbox/program/search/index.js'
import { features, sizes, start, tables, weights } from '../handoff/sandbox/program/search/ranking-weights.js'
import { openGround, readQuestions } from './search-quality-ground.js'
import { asMarkdown, asText, writeSection } from './search-quality-table.js'
import { type Question, type Result, scorePlaces } from './search-quality-types.js'

const command = {
  name: 'eval:ablation',
  description: `Measures what each part of the search gives: how much worse the lines are found without it.

Figures are differences in points from the whole search; a part earns its place where they are negative.`,
  options: {
    questions: { type: 'string', multiple: true, value: 'FILE', help: 'as for npm run eval; needed, may be repeated' },
    repositories: { type: 'string', value: 'DIR', help: 'as for npm run eval; needed' },
    sample: { type: 'string', value: 'COUNT', help: 'so many questions of each file, evenly spaced' },
    cache: { type: 'string', value: 'DIR', help: 'as for npm run eval' },
    part: { type: 'string', multiple: true, value: 'NAME', help: 'these parts only' },
    write: { type: 'string', value: 'FILE', help: 'put the tables into this Markdown file' },
  },
  example: 'eval:ablation -- --questions questions.jsonl --repositories ../clones',
  cost: 'nothing; no sandbox and no model.',
} as const

/** Takes a part out and returns what puts it back. */
type Removal = () => () => void

function set<T extends Record<string, number>>(numbers: T, values: Partial<Record<keyof T, number>>): Removal {
  return () => {
    const before = { ...numbers }
    Object.assign(numbers, values)
    return () => void Object.assign(numbers, before)
  }
}

const feature =
  (...names: string[]): Removal =>
  () => {
    const before = Object.entries(tables).map(([shape, table]) => [shape, table.slice()] as const)
    for (const table of new Set(Object.values(tables))) for (const name of names) table[features.indexOf(name)] = 0
    return () => {
      for (const [shape, table] of before) tables[shape as keyof typeof tables].set(table)
    }
  }

const nothingLearnt: Removal = () => {
  const before = { ...tables }
  Object.assign(tables, Object.fromEntries(Object.keys(tables).map((shape) => [shape, start])))
  return () => void Object.assign(tables, before)
}

const parts: Record<string, Removal> = {
  'learnt weights': nothingLearnt,
  'other words for one thing': set(weights, { synonym: 0 }),
  'words inside names': set(weights, { compound: 0 }),
  'short forms of words': set(weights, { abbreviation: 0 }),
  'asking words count less': set(weights, { questionWord: 1 }),
  'words that begin longer ones': set(weights, { prefix: 0 }),
  'title counts more than body': set(weights, { body: 1 }),
  'repeated words count more': set(weights, { repeated: 0 }),
  'pairs of neighbouring words': set(weights, { neighbours: 0 }),
  'names that the question covers': set(weights, { nameCoverage: 0 }),
  'name of the definition': set(weights, { ownName: 0 }),
  'name around the definition': set(weights, { enclosingName: 0 }),
  'words of the path': set(weights, { path: 0, filePath: 0 }),
  'second and third region': set(weights, { secondRegion: 0, thirdRegion: 0 }),
  'whole file': set(weights, { wholeFile: 0 }),
  'kinds of files count less': set(weights, {
    test: 1,
    testInPython: 1,
    testWhenAsked: 1,
    documentation: 1,
    documentationWhenAsked: 1,
    example: 1,
  }),
  'files that are named': feature('named'),
  'definitions that are named': feature('defines'),
  'what the best files use': feature('uses'),
  'tests and what they test': feature('tested', 'testOf', 'testRank'),
  'how well tests rank': feature('testRank'),
  'best block of lines': feature('block'),
  'name of the file': feature('name'),
  'size of the file': feature('big'),
  'words of imports': feature('imports'),
  'what twins inherit from': set(sizes, { twins: Number.POSITIVE_INFINITY }),
  'files that relate to the best': set(sizes, { related: 0 }),
  'rank of the file among lines': set(weights, { fileTrust: 0 }),
  'related regions rise': set(weights, { region: 0 }),
  'gaps between shown lines': set(sizes, { gap: 0 }),
}

const metrics = ['hit1', 'hit5', 'acc5', 'acc10', 'recall10', 'lines', 'lineRecall'] as const
const heads = ['hit@1', 'hit@5', 'Acc@5', 'Acc@10', 'recall@10', 'lines', 'gold lines']
/** The scores of each question, in their order. */
type Scores = Pick<Result, (typeof metrics)[number]>[]

const whole = 'the whole search'

async function measure(values: Given<typeof command.options>['values'], file: string): Promise<Map<string, Scores>> {
  const wanted = values.part ?? Object.keys(parts)
  const all = new Map<string, Scores>()
  const questions = await readQuestions(values, file)
  for (const [key, group] of Map.groupBy(questions, ({ repository, commit }) => `${repository}@${commit}`)) {
    const [repository = '', prefix = ''] = key.split('@')
    const ground = await openGround(values.repositories!, repository, prefix, values.cache)
    for (const question of group) {
      await ask(whole, question, ground.source, all)
      for (const name of wanted) {
        const putBack = parts[name]!()
        await ask(name, question, ground.source, all)
        putBack()
      }
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
  return all
}

async function ask(
  name: string,
  { question, gold }: Question,
  { corpus, findDefinitions }: CommitSource,
  all: Map<string, Scores>,
): Promise<void> {
  const search = { question, terms: [], tokens: 12_000, shown: [] }
  const found = await findInCorpus(corpus, { search, findDefinitions })
  const scores = scorePlaces(
    gold,
    found.excerpts.map(({ path, from, lines }) => ({ path, from, to: from + lines.length - 1 })),
  )
  all.set(name, [...(all.get(name) ?? []), scores])
}

const resamples = 400

function tableOf(name: string, all: Map<string, Scores>): string[][] {
  const base = all.get(whole)!
  const rows = [...all].map(([part, scores]) => {
    if (part === whole) return [whole, ...metrics.map((metric) => mean(valuesOf(metric, scores)).toFixed(1))]
    return [`without: ${part}`, ...metrics.map((metric) => differenceOf(valuesOf(metric, scores, base)))]
  })
  return [[`${name}, ${base.length} questions`, ...heads], ...rows]
}

/** In points, of questions that have the measure; less those of the whole search where that is given. */
function valuesOf(metric: (typeof metrics)[number], scores: Scores, base?: Scores): number[] {
  return scores.flatMap((one, at) =>
    one[metric] === undefined ? [] : [100 * (one[metric] - (base?.[at]?.[metric] ?? 0))],
  )
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1)

/** The mean, and the middle nine tenths of means of as many questions, drawn with repetition. */
function differenceOf(values: readonly number[]): string {
  if (values.every((value) => value === 0)) return '0'
  // A fixed sequence, so that the same questions give the same table.
  let state = 1
  const draw = () => {
    state = Math.imul(state, 0x41c64e6d) + 12_345
    return values[(state >>> 8) % values.length]!
  }
  const means = Array.from({ length: resamples }, () => mean(values.map(draw))).sort((a, b) => a - b)
  const [low, high] = [means[resamples / 20]!, means[(resamples * 19) / 20]!]
  return `${signed(mean(values))} (${signed(low)} … ${signed(high)})`
}

const signed = (value: number) => `${value > 0.05 ? '+' : ''}${value.toFixed(1).replace('-0.0', '0.0')}`

async function run({ values }: Given<typeof command.options>): Promise<void> {
  if (!values.questions || !values.repositories) {
    throw new HandoffError('invalid-input', 'The questions or the repositories are missing.', {
      next: `Write for instance npm run ${command.example}.`,
    })
  }
  const unknown = values.part?.find((name) => !(name in parts))
  if (unknown !== undefined) {
    throw new HandoffError('invalid-input', `There is no part ${JSON.stringify(unknown)}.`, {
      next: `There are ${Object.keys(parts).join('; ')}.`,
    })
  }
  const written: string[][][] = []
  for (const file of values.questions) {
    const table = tableOf(basename(file, '.jsonl'), await measure(values, file))
    process.stdout.write(`${asText(table)}\n\n`)
    written.push(table)
  }
  const text =
    'Differences in points without one part, on evenly spaced samples, with nine tenths of the means of questions drawn anew (bootstrap). A part earns its place where they are negative.'
  if (values.write) await writeSection(values.write, 'What each part gives', [text, ...written.map(asMarkdown)])
}

await runCommand(command, run)
