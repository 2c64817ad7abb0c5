// `npm run eval:silence`: how often an answer says that nothing was found. Each question is asked of its own repository, where the answer is, and of
// another one, where it is not. The model is scripted: it knows what the search says of the question's words, and follows its instructions.
import { basename } from 'node:path'
import { type Given, runCommand } from '../cli/command-line.js'
import { answerBlocks } from '../handoff/domain/answers/answer-prompt.js'
import { parseReply } from '../handoff/domain/answers/parse-reply.js'
import { HandoffError } from '../handoff/index.js'
import { findInCorpus } from '../handoff/sandbox/program/search/index.js'
import { shapeOf } from '../handoff/sandbox/program/search/question-shape.js'
import { openGround, readQuestions } from './search-quality-ground.js'
import { asMarkdown, asText, writeSection } from './search-quality-table.js'
import type { Question } from './search-quality-types.js'

const command = {
  name: 'eval:silence',
  description: `Measures honest silence: how many answers are NOT FOUND, of questions whose answer is in the repository and of others.

A scripted model takes part. It replies NOT FOUND where the search tells it to.`,
  options: {
    questions: { type: 'string', multiple: true, value: 'FILE', help: 'as for npm run eval; needed, may be repeated' },
    repositories: { type: 'string', value: 'DIR', help: 'as for npm run eval; needed' },
    sample: { type: 'string', value: 'COUNT', help: 'so many questions of each file, evenly spaced' },
    cache: { type: 'string', value: 'DIR', help: 'as for npm run eval' },
    write: { type: 'string', value: 'FILE', help: 'put the table into this Markdown file' },
  },
  example: 'eval:silence -- --questions questions.jsonl --repositories ../clones',
  cost: 'nothing; no sandbox and no model.',
} as const

type Values = Given<typeof command.options>['values']

/** What a model replies that follows its instructions and knows nothing else. */
function scriptedReply(blocks: string): string {
  const search = /^=== search\n([\s\S]*?)^=== end$/m.exec(blocks)?.[1] ?? ''
  return /reply NOT FOUND/i.test(search) ? 'NOT FOUND\n\nNothing here does what is asked.' : 'It is here.'
}

async function isSilent(values: Values, question: string, place: Question): Promise<boolean> {
  const ground = await openGround(values.repositories!, place.repository, place.commit, values.cache)
  const { corpus, findDefinitions } = ground.source
  const search = { question, terms: [], tokens: 12_000, shown: [] }
  const { excerpts, searched } = await findInCorpus(corpus, { search, findDefinitions })
  const prompt = { question, excerpts, search: searched, summary: '', earlier: [], round: 1, roundsLeft: 0 }
  const blocks = answerBlocks(prompt).map(({ text }) => text)
  const reply = parseReply(scriptedReply(blocks.join('\n')))
  return reply.kind === 'answer' && reply.unanswered
}

interface Count {
  asked: number
  own: number
  other: number
}

/** Each question is asked at home and elsewhere, repository by repository, so that each is opened once. */
async function measure(values: Values, file: string): Promise<Map<string, Count>> {
  const questions = await readQuestions(values, file)
  const places = [...new Map(questions.map((one) => [one.repository, one])).values()]
  const asked = questions.flatMap((one, index) => {
    const others = places.filter((place) => place.repository !== one.repository)
    return [
      { question: one.question, at: one, where: 'own' as const },
      { question: one.question, at: others[index % others.length]!, where: 'other' as const },
    ]
  })
  const counts = new Map<string, Count>()
  for (const group of Map.groupBy(asked, ({ at }) => `${at.repository}@${at.commit}`).values()) {
    for (const { question, at, where } of group) {
      const silent = await isSilent(values, question, at)
      for (const row of ['all', shapeOf(question)]) {
        const count = counts.get(row) ?? { asked: 0, own: 0, other: 0 }
        counts.set(row, count)
        count.asked += Number(where === 'own')
        count[where] += Number(silent)
      }
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
  return counts
}

function tableOf(name: string, counts: Map<string, Count>): string[][] {
  const percent = (part: number, all: number) => `${((100 * part) / all).toFixed(1)} %`
  const rows = [...counts].map(([row, { asked, own, other }]) => [
    row,
    String(asked),
    percent(other, asked),
    percent(own, asked),
  ])
  return [[name, 'asked', 'not found, elsewhere', 'not found, at home'], ...rows]
}

async function run({ values }: Given<typeof command.options>): Promise<void> {
  if (!values.questions || !values.repositories) {
    throw new HandoffError('invalid-input', 'The questions or the repositories are missing.', {
      next: `Write for instance npm run ${command.example}.`,
    })
  }
  const tables: string[][][] = []
  for (const file of values.questions) {
    const table = tableOf(basename(file, '.jsonl'), await measure(values, file))
    process.stdout.write(`${asText(table)}\n\n`)
    tables.push(table)
  }
  const text =
    'Each question is asked of its own repository (at home) and of another one (elsewhere). The model is scripted: it replies NOT FOUND where the search tells it to.'
  if (values.write) await writeSection(values.write, 'Honest silence', [text, ...tables.map(asMarkdown)])
}

await runCommand(command, run)
