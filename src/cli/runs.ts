// `npm run runs`: the runs of a repository, and what one of them holds. It reads drive9 and nothing else.

import { isAbout } from '../handoff/domain/corrections/correction.js'
import type { Section, Statement, SummaryRecord } from '../handoff/domain/summary/summary-record.js'
import {
  type AnswerRecord,
  answerMarkdown,
  type ChosenRun,
  correctionsFor,
  correctionsOf,
  createReadContext,
  getAnswer,
  type Handoff,
  HandoffError,
  listAnswerPage,
  listRuns,
  parseRepository,
  parseRunName,
  type ReadContext,
  type Repository,
  readStatements,
  resolveRun,
  type ShownCorrection,
  summaryWithCorrections,
} from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { readDriveSettings } from './load-env.js'
import { harmless } from './terminal.js'

const command = {
  name: 'runs',
  description:
    'Lists the runs of a repository, the newest first. With a run, prints its summary; with more options, its answers or what its summary says anew.',
  positionals: { usage: 'OWNER/NAME [RUN]', least: 1, most: 2 },
  options: {
    answers: { type: 'boolean', help: 'list the answers of the run' },
    answer: { type: 'string', value: 'ID', help: 'print this answer' },
    since: {
      type: 'string',
      value: 'RUN',
      help: 'print which statements are new or gone since the summary of that run',
    },
    host: { type: 'string', value: 'HOST', default: 'github.com', help: 'the git host' },
    'clone-url': {
      type: 'string',
      value: 'URL',
      help: 'where branches are looked up; https://<host>/<owner>/<name>.git when absent',
    },
    limit: { type: 'string', value: 'COUNT', default: '20', help: 'rows of a list' },
    after: { type: 'string', value: 'CURSOR', help: 'continue a list; the list prints it' },
    json: { type: 'boolean', help: 'as JSON' },
  },
  example: 'runs -- owner/name main --since v1-run',
  cost: 'nothing; no sandbox and no model.',
} as const

type Flags = Given<typeof command.options>['values']

interface Printed {
  json: unknown
  text: string
}

interface Place {
  context: ReadContext
  repository: Repository
  flags: Flags
  signal: AbortSignal
}

async function show({ values: flags, positionals }: Given<typeof command.options>): Promise<void> {
  const [fullName = '', name] = positionals
  const repository = parseRepository(fullName, flags.host)
  if (name === undefined && (flags.answers || flags.answer !== undefined || flags.since !== undefined)) {
    throw new HandoffError('invalid-input', 'The run is missing.', {
      next: 'Name it after the repository: a run id, a full commit id, a branch, or #12 for a pull request.',
    })
  }
  const context = createReadContext(readDriveSettings())
  const place = { context, repository, flags, signal: AbortSignal.timeout(120_000) }
  const { json, text } = await (name === undefined ? runList(place) : showRun(place, name))
  process.stdout.write(flags.json ? `${JSON.stringify(json, null, 2)}\n` : `${harmless(text)}\n`)
}

async function showRun(place: Place, name: string): Promise<Printed> {
  const { flags } = place
  const run = await choose(place, name)
  if (flags.answer !== undefined) return oneAnswer(place, run, flags.answer)
  if (flags.answers) return answerList(place, run)
  if (flags.since !== undefined) return difference(place, await choose(place, flags.since), run)
  const summary = await summaryWithCorrections(place.context, run, place.signal)
  return { json: { handoff: run.handoff, summary }, text: summary.trimEnd() }
}

function choose({ context, repository, flags, signal }: Place, name: string): Promise<ChosenRun> {
  const { host, owner, name: short } = repository
  const cloneUrl = flags['clone-url'] ?? `https://${host}/${owner}/${short}.git`
  const where = { repository, cloneUrl, readOnly: true }
  return resolveRun(where, parseRunName(name), context, signal)
}

// ── lists ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function page({ limit, after }: Flags) {
  if (!/^[1-9]\d{0,2}$/.test(limit))
    throw new HandoffError('invalid-input', '--limit is not a number from 1 to 999.', {
      next: 'See npm run runs -- --help.',
    })
  return { limit: Number(limit), cursor: after }
}

const listed = (rows: string[], none: string, next: string | undefined) =>
  [...(rows.length === 0 ? [none] : rows), ...(next === undefined ? [] : [`More with --after ${next}`])].join('\n')

async function runList({ context, repository, flags, signal }: Place): Promise<Printed> {
  const found = await listRuns(context, repository, page(flags), signal)
  const none = 'No run is here. Check DRIVE9_ROOT and the name, or summarise a commit first.'
  return { json: found, text: listed(found.items.map(runRow), none, found.next) }
}

function runRow({ run, ref, sealedAt, survey, cost, partial }: Handoff): string {
  const money = cost === undefined ? '' : `  $${cost.amount.toFixed(4)}`
  const branch = ref?.replace(/^refs\/heads\/|^refs\//, '') ?? '-'
  return `${sealedAt.slice(0, 16).replace('T', ' ')}  ${run}  ${branch}  ${survey.files} files${money}${partial === undefined ? '' : '  partial'}`
}

async function answerList({ context, flags, signal }: Place, run: ChosenRun): Promise<Printed> {
  const found = await listAnswerPage(context, run, page(flags), signal)
  return { json: found, text: listed(found.items.map(answerRow), 'The run has no answers.', found.next) }
}

const answerRow = ({ id, status, acceptedAt, question }: AnswerRecord) =>
  `${acceptedAt.slice(0, 16).replace('T', ' ')}  ${id}  ${status.padEnd(7)}  ${question.replace(/\s+/g, ' ').slice(0, 100)}`

// ── one thing ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function oneAnswer({ context, repository, signal }: Place, run: ChosenRun, id: string): Promise<Printed> {
  const record = await getAnswer(context, run, id, signal)
  const place = { host: repository.host, repository: `${repository.owner}/${repository.name}` }
  if (record.status === 'done') {
    const corrections = correctionsFor(record, await correctionsOf(context, run, signal))
    const text = answerMarkdown(record, place, { form: 'file', reused: true, notes: [], corrections }).trimEnd()
    return { json: { ...record, ...(corrections.length === 0 ? {} : { corrections }) }, text }
  }
  const end = record.status === 'failed' ? `It failed: ${record.error.message}` : 'It is being answered.'
  return { json: record, text: `${record.question}\n\n${end}` }
}

async function difference({ context, signal }: Place, before: ChosenRun, after: ChosenRun): Promise<Printed> {
  const [[older, ...saidBefore], [newer, ...said]] = await Promise.all([
    statementsAndCorrections(context, before, signal),
    statementsAndCorrections(context, after, signal),
  ])
  if (older === undefined || newer === undefined) {
    throw new HandoffError('not-found', 'One of the runs is of an earlier version, whose summary has no statements.', {
      next: 'Summarise the commit again with force.',
    })
  }
  const sections = compareSummaries(older, newer)
  return {
    json: {
      since: before.handoff.run,
      run: after.handoff.run,
      sections,
      corrections: said,
      correctedBefore: saidBefore,
    },
    text: sections
      .map((section, index) => differenceText(section, newer.sections[index]!, said, saidBefore))
      .join('\n\n'),
  }
}

async function statementsAndCorrections(context: ReadContext, run: ChosenRun, signal: AbortSignal) {
  const [statements, corrections] = await Promise.all([
    readStatements(context, run, signal),
    correctionsOf(context, run, signal),
  ])
  return [statements, ...corrections.filter(({ answer }) => answer === undefined)] as const
}

/** A statement that both have is listed where it was corrected. */
function differenceText(
  { heading, kept, added, removed }: SectionDifference,
  { statements }: Section,
  said: readonly ShownCorrection[],
  saidBefore: readonly ShownCorrection[],
): string {
  const corrected = statements.filter((one) => !added.includes(one) && about(one, said).length > 0)
  const row = (sign: string, statement: Statement, corrections: readonly ShownCorrection[]) => [
    `${sign} ${statement.text}`,
    ...about(statement, corrections).map(({ by, at, text }) => `    correction by ${by}, ${at.slice(0, 10)}: ${text}`),
  ]
  const rows = [
    ...removed.flatMap((one) => row('-', one, saidBefore)),
    ...added.flatMap((one) => row('+', one, said)),
    ...corrected.flatMap((one) => row('=', one, said)),
  ]
  return [`## ${heading}`, ...(rows.length === 0 ? [] : ['', ...rows]), '', `${kept} statements are the same.`].join(
    '\n',
  )
}

const about = ({ citations }: Statement, corrections: readonly ShownCorrection[]) =>
  corrections.filter((one) => citations.some((cited) => isAbout(one, cited)))

/** What a summary says that an earlier one did not, statement by statement. */
interface SectionDifference {
  heading: string
  kept: number
  added: Statement[]
  removed: Statement[]
}

/** A statement is the same as long as its text is, wherever its lines moved. */
function compareSummaries(before: SummaryRecord, after: SummaryRecord): SectionDifference[] {
  return after.sections.map(({ heading, statements }) => {
    const earlier = before.sections.find((section) => section.heading === heading)?.statements ?? []
    const added = missingFrom(earlier, statements)
    return { heading, kept: statements.length - added.length, added, removed: missingFrom(statements, earlier) }
  })
}

function missingFrom(known: readonly Statement[], statements: readonly Statement[]): Statement[] {
  const texts = new Set(known.map(({ text }) => text))
  return statements.filter(({ text }) => !texts.has(text))
}

await runCommand(command, show)
