// `npm run eval`: how well the lines that answer a question are found, with no model. Everything is counted within what would be sent:
// 12,000 tokens of numbered lines.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Given, runCommand } from '../cli/command-line.js'
import { estimateTokens } from '../handoff/domain/estimate-tokens.js'
import { HandoffError } from '../handoff/index.js'
import { findInCorpus } from '../handoff/sandbox/program/search/index.js'
import { shapeOf } from '../handoff/sandbox/program/search/question-shape.js'
import { extensionOf } from '../handoff/sandbox/program/survey/languages.js'
import { type Baselines, openBaselines } from './search-quality-baselines.js'
import { type Ground, openGround, readLines, readQuestions } from './search-quality-ground.js'
import { asMarkdown, asText, groupRows, table, writeSection } from './search-quality-table.js'
import { type Place, type Question, type Result, scorePlaces } from './search-quality-types.js'

const command = {
  name: 'eval',
  description: `Scores how well the lines that answer a question are found.

Each line of the questions is {id, repository, commit, question, gold: [{path, lines: [[from, to], …]}]}. Acc@k counts
a question when all its gold files are among the first k, hit@k when one is. Lines are counted within 12,000 tokens.`,
  options: {
    questions: {
      type: 'string',
      multiple: true,
      value: 'FILE',
      help: 'the questions, JSON lines; needed, may be repeated',
    },
    repositories: { type: 'string', value: 'DIR', help: 'clones called name or owner+name; needed' },
    summaries: { type: 'string', value: 'DIR', help: 'summaries called owner+name.md; they are given to the search' },
    terms: {
      type: 'string',
      value: 'FILE',
      help: 'words of a model, JSON lines {id, terms}; they are given to the search',
    },
    repository: { type: 'string', value: 'NAME', help: 'the questions about one repository only' },
    sample: { type: 'string', value: 'COUNT', help: 'so many questions of each file, evenly spaced' },
    baselines: { type: 'boolean', help: 'ask git grep, BM25 over pieces and SQLite the same' },
    cache: { type: 'string', value: 'DIR', help: 'where surveys are kept from one evaluation to the next' },
    write: {
      type: 'string',
      value: 'FILE',
      help: 'put the tables into this Markdown file, a section for each file of questions',
    },
  },
  example: 'eval -- --questions questions.jsonl --repositories ../clones',
  cost: 'nothing; no sandbox and no model.',
} as const

/** What one answer may be given: the same bound as in production. */
const tokens = 12_000

type Values = Given<typeof command.options>['values']

type Engine = 'handoff' | 'git grep' | 'BM25' | 'SQLite FTS5'

interface Asked {
  ground: Ground
  baselines: Baselines | undefined
  question: Question
  terms: string[]
  summary: string
}

async function askAll({ ground, baselines, question, terms, summary }: Asked): Promise<[Engine, Result][]> {
  const text = question.question
  const engines: [Engine, () => Promise<Place[]> | Place[]][] = []
  const shape = shapeOf(text)
  let shown: string[] = []
  engines.push([
    'handoff',
    async () => {
      const { corpus, findDefinitions } = ground.source
      const search = { question: text, terms, tokens, shown: [] }
      const found = await findInCorpus(corpus, { summary, search, findDefinitions })
      shown = found.excerpts.map(({ path, from, lines }) => sent({ path, from, to: from + lines.length - 1 }, lines))
      return found.excerpts.map(({ path, from, lines }) => ({ path, from, to: from + lines.length - 1 }))
    },
  ])
  if (baselines) {
    engines.push(['git grep', () => baselines.grep(text)], ['BM25', () => baselines.chunks(text)])
    const { fullText } = baselines
    if (fullText) engines.push(['SQLite FTS5', () => fullText(text)])
  }
  const results: [Engine, Result][] = []
  for (const [engine, look] of engines) {
    const start = performance.now()
    const places = await look()
    const milliseconds = performance.now() - start
    const fitting =
      engine === 'handoff' ? { places, tokens: estimateTokens(shown.join('\n')) } : takeFitting(places, baselines!)
    results.push([
      engine,
      {
        repository: question.repository,
        language: languageOf(question),
        shape,
        ...scorePlaces(question.gold, fitting.places),
        tokens: fitting.tokens,
        milliseconds,
      },
    ])
  }
  return results
}

/** The places that fit 12,000 tokens. */
function takeFitting(places: readonly Place[], { lineOf }: Baselines): { places: Place[]; tokens: number } {
  const taken: Place[] = []
  let spent = 0
  for (const place of places) {
    const cost = estimateTokens(sent(place, lineOf(place)))
    if (spent + cost > tokens) continue
    spent += cost
    taken.push(place)
  }
  return { places: taken, tokens: spent }
}

function sent({ path, from, to }: Place, lines: readonly string[]): string {
  const numbered = lines.map((line, index) => `${from + index}| ${line}`)
  return [`=== file ${JSON.stringify(path)} lines ${from}-${to}`, ...numbered, '=== end'].join('\n')
}

const languages: Record<string, string> = {
  py: 'Python',
  pyx: 'Python',
  js: 'JavaScript',
  jsx: 'JavaScript',
  mjs: 'JavaScript',
  cjs: 'JavaScript',
  ts: 'TypeScript',
  tsx: 'TypeScript',
  mts: 'TypeScript',
  vue: 'TypeScript',
  go: 'Go',
  rs: 'Rust',
  java: 'Java',
  c: 'C',
  h: 'C',
}

function languageOf({ gold }: Question): string {
  const names = gold.map(({ path }) => languages[extensionOf(path)] ?? 'other')
  return names.find((name) => name !== 'other') ?? 'other'
}

async function summaryOf({ summaries }: Values, repository: string): Promise<string> {
  const file = summaries && join(summaries, `${repository.replace('/', '+')}.md`)
  return file && existsSync(file) ? await readFile(file, 'utf8') : ''
}

async function askSet(
  values: Values,
  file: string,
  terms: ReadonlyMap<string, string[]>,
): Promise<Map<Engine, Result[]>> {
  const all = new Map<Engine, Result[]>()
  const questions = await readQuestions(values, file)
  for (const [key, group] of Map.groupBy(questions, ({ repository, commit }) => `${repository}@${commit}`)) {
    const [repository = '', prefix = ''] = key.split('@')
    const ground = await openGround(values.repositories!, repository, prefix, values.cache)
    const baselines = values.baselines ? await openBaselines(ground.gitDirectory, ground.commit) : undefined
    const summary = await summaryOf(values, repository)
    for (const question of group) {
      for (const [engine, result] of await askAll({
        ground,
        baselines,
        question,
        terms: terms.get(question.id) ?? [],
        summary,
      })) {
        all.set(engine, [...(all.get(engine) ?? []), result])
      }
    }
    process.stderr.write('.')
  }
  process.stderr.write('\n')
  return all
}

function tablesOf(name: string, all: Map<Engine, Result[]>): string[][][] {
  const ours = all.get('handoff') ?? []
  return [
    table(name, [...groupRows(ours, 'repository'), ['all', ours]]),
    table('by language', groupRows(ours, 'language')),
    table('by shape', groupRows(ours, 'shape')),
    table('compared', [...all]),
  ].filter((rows) => rows.length > 2 || rows[0]![0] === name)
}

async function evaluate({ values }: Given<typeof command.options>): Promise<void> {
  if (!values.questions || !values.repositories) {
    throw new HandoffError('invalid-input', 'The questions or the repositories are missing.', {
      next: 'Give both: --questions FILE --repositories DIR.',
    })
  }
  const named = values.terms ? await readLines<{ id: string; terms: string[] }>(values.terms) : []
  const terms = new Map(named.map(({ id, terms: words }) => [id, words]))
  for (const file of values.questions) {
    const name = basename(file, '.jsonl')
    const tables = tablesOf(name, await askSet(values, file, terms))
    process.stdout.write(`${tables.map(asText).join('\n\n')}\n\n`)
    if (values.write) await writeSection(values.write, name, tables.map(asMarkdown))
  }
}

await runCommand(command, evaluate)
