// `npm run eval`: how well the lines that answer a question are found, with no model. Everything is counted within what would be sent:
// 12,000 tokens of numbered lines.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Given, runCommand } from '../cli/command-line.js'
import { estimateTokens } from '../handoff/domain/estimate-tokens.js'
import type { Excerpt } from '../handoff/index.js'
import { HandoffError } from '../handoff/index.js'
import { find } from '../handoff/sandbox/program/search/index.js'
import { survey } from '../handoff/sandbox/program/survey/index.js'

interface Question {
  id: string
  repository: string
  commit: string
  question: string
  gold: { path: string; lines: [from: number, to: number][] }[]
}

interface Score {
  questions: number
  hit1: number
  hit5: number
  recall10: number
  /** Questions whose gold has line ranges, and how many of them got one of those lines. */
  withLines: number
  lines: number
  tokens: number
  mostTokens: number
  milliseconds: number
}

const command = {
  name: 'eval',
  description: `Scores how well the lines that answer a question are found.

Each line of the questions is {id, repository, commit, question, gold: [{path, lines: [[from, to], …]}]}. With summaries
each question is asked twice: without and with the summary.`,
  options: {
    questions: { type: 'string', value: 'FILE', help: 'the questions, JSON lines; needed' },
    repositories: { type: 'string', value: 'DIR', help: 'clones called name or owner+name; needed' },
    summaries: { type: 'string', value: 'DIR', help: 'summaries called owner+name.md' },
    repository: { type: 'string', value: 'NAME', help: 'the questions about one repository only' },
    limit: { type: 'string', value: 'COUNT', help: 'the first so many questions only' },
  },
  example: 'eval -- --questions questions.jsonl --repositories ../clones',
  cost: 'nothing; no sandbox and no model.',
} as const

interface Arguments {
  questions: string
  repositories: string
  summaries: string | undefined
  repository: string | undefined
  limit: number
}

/** What one answer may be given: the same bound as in production. */
const textBytes = 44_000
const execute = promisify(execFile)

function readArguments({ values }: Given<typeof command.options>): Arguments {
  const { questions, repositories, summaries, repository, limit } = values
  if (!questions || !repositories) {
    throw new HandoffError('invalid-input', 'The questions or the repositories are missing.', {
      next: 'Give both: --questions FILE --repositories DIR.',
    })
  }
  if (limit !== undefined && !/^\d{1,6}$/.test(limit)) {
    throw new HandoffError('invalid-input', '--limit is not a whole number.', {
      next: 'Write for instance --limit 50.',
    })
  }
  return { questions, repositories, summaries, repository, limit: Number(limit ?? Number.POSITIVE_INFINITY) }
}

function gitDirectoryOf(folder: string, repository: string): string {
  const [owner = '', name = ''] = repository.split('/')
  const places = [name, `${owner}+${name}`].flatMap((folderName) =>
    ['', '.git', 'repo', 'repo/.git'].map((inner) => join(folder, folderName, inner)),
  )
  const found = places.find((place) => existsSync(join(place, 'HEAD')) && existsSync(join(place, 'objects')))
  if (found) return found
  throw new HandoffError('not-found', `There is no clone of ${repository} in ${folder}.`, {
    next: `Put one there as ${name} or ${owner}+${name}.`,
  })
}

async function fullCommit(gitDirectory: string, prefix: string): Promise<string> {
  const { stdout } = await execute('git', ['-C', gitDirectory, 'rev-parse', '--verify', `${prefix}^{commit}`])
  return stdout.trim()
}

/** The outline of a commit, as Sandbox A would have left it for Sandbox B. */
async function outlineOf(gitDirectory: string, commit: string) {
  const { outline } = await survey({ gitDirectory, commit, limits: { textBytes: 1_000, include: [], exclude: [] } })
  return outline
}

interface Ground {
  gitDirectory: string
  commit: string
  outline: Awaited<ReturnType<typeof outlineOf>>
}

async function ask(question: Question, ground: Ground, summary: string): Promise<Score> {
  const start = performance.now()
  const { excerpts } = await find({
    ...ground,
    summary,
    search: { question: question.question, terms: [], textBytes, shown: [] },
  })
  const milliseconds = performance.now() - start
  const order = [...new Set(excerpts.map((excerpt) => excerpt.path))]
  const gold = question.gold.map(({ path }) => path)
  const tokens = estimateTokens(excerpts.map(asSent).join('\n'))
  const ranges = question.gold.flatMap(({ path, lines }) => lines.map(([from, to]) => ({ path, from, to })))
  return {
    questions: 1,
    hit1: Number(gold.includes(order[0] ?? '')),
    hit5: Number(order.slice(0, 5).some((path) => gold.includes(path))),
    recall10: gold.filter((path) => order.slice(0, 10).includes(path)).length / gold.length,
    withLines: Number(ranges.length > 0),
    lines: Number(ranges.some((range) => excerpts.some((excerpt) => overlaps(excerpt, range)))),
    tokens,
    mostTokens: tokens,
    milliseconds,
  }
}

function overlaps({ path, from, lines }: Excerpt, range: { path: string; from: number; to: number }): boolean {
  return path === range.path && from <= range.to && from + lines.length - 1 >= range.from
}

function asSent({ path, from, lines }: Excerpt): string {
  const numbered = lines.map((line, index) => `${from + index}| ${line}`)
  return [`=== file ${JSON.stringify(path)} lines ${from}-${from + lines.length - 1}`, ...numbered, '=== end'].join(
    '\n',
  )
}

function add(sum: Score | undefined, one: Score): Score {
  if (!sum) return { ...one }
  const keys = Object.keys(one) as (keyof Score)[]
  const added = Object.fromEntries(keys.map((key) => [key, sum[key] + one[key]])) as unknown as Score
  return { ...added, mostTokens: Math.max(sum.mostTokens, one.mostTokens) }
}

function row(name: string, score: Score): string {
  const percent = (part: number, whole: number) => (whole === 0 ? '–' : ((100 * part) / whole).toFixed(1)).padStart(6)
  const { questions } = score
  const cells = [score.hit1, score.hit5, score.recall10].map((part) => percent(part, questions))
  return [
    name.padEnd(28),
    String(questions).padStart(5),
    ...cells,
    percent(score.lines, score.withLines),
    String(Math.round(score.tokens / questions)).padStart(7),
    String(score.mostTokens).padStart(6),
    `${Math.round(score.milliseconds / questions)} ms`.padStart(8),
  ].join(' ')
}

async function evaluate(given: Arguments): Promise<void> {
  const questions = await readQuestions(given)
  process.stdout.write(`${'repository'.padEnd(28)} asked  hit@1  hit@5 rec@10  lines  tokens  most     time\n`)
  const all: { plain?: Score; helped?: Score } = {}
  for (const [key, group] of Map.groupBy(questions, ({ repository, commit }) => `${repository}@${commit}`)) {
    const [repository = '', prefix = ''] = key.split('@')
    const gitDirectory = gitDirectoryOf(given.repositories, repository)
    const commit = await fullCommit(gitDirectory, prefix)
    const ground = { gitDirectory, commit, outline: await outlineOf(gitDirectory, commit) }
    all.plain = await askAll(repository, group, ground, '', all.plain)
    const summary = await summaryOf(given, repository)
    if (summary) all.helped = await askAll('  with its summary', group, ground, summary, all.helped)
  }
  if (all.plain) process.stdout.write(`${row('all', all.plain)}\n`)
  if (all.helped) process.stdout.write(`${row('  with their summaries', all.helped)}\n`)
}

async function readQuestions(given: Arguments): Promise<Question[]> {
  const text = await readFile(given.questions, 'utf8')
  const questions = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Question)
  const { repository: wanted } = given
  return questions
    .filter(({ repository }) => !wanted || repository === wanted || repository.endsWith(`/${wanted}`))
    .slice(0, given.limit)
}

/** Writes a row about these questions and returns them added to the others. */
async function askAll(
  name: string,
  group: Question[],
  ground: Ground,
  summary: string,
  others: Score | undefined,
): Promise<Score> {
  let sum: Score | undefined
  let all = others
  for (const question of group) {
    const score = await ask(question, ground, summary)
    sum = add(sum, score)
    all = add(all, score)
  }
  if (!sum || !all) throw new HandoffError('invalid-input', `There are no questions about ${name}.`)
  process.stdout.write(`${row(name, sum)}\n`)
  return all
}

async function summaryOf({ summaries }: Arguments, repository: string): Promise<string> {
  const file = summaries && join(summaries, `${repository.replace('/', '+')}.md`)
  return file && existsSync(file) ? await readFile(file, 'utf8') : ''
}

await runCommand(command, (given) => evaluate(readArguments(given)))
