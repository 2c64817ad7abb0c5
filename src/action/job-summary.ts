// The job summary of a run: one sentence, the diagram, the change, the four sections, and folded tables. Text of the model and names from the repository
// are sanitised.
import {
  changeParts,
  changeSections,
  changeSize,
  correctionsMarkdown,
  diagramMarkdown,
  fitMarkdown,
  type Handoff,
  placeCorrections,
  type SummariseResult,
  safeInline,
  safeMarkdown,
  safeTable,
} from '../handoff/index.js'
import type { Context } from './event-context.js'
import { type Job, linkPlace } from './job-context.js'

const count = (value: number) => value.toLocaleString('en-US')
const code = (text: string) => `\`${text.replace(/[`\r\n|]/g, ' ')}\``

export function summaryReport(result: SummariseResult, job: Pick<Job, 'context'>): string {
  const { handoff, change, diagram, corrections } = result
  const place = linkPlace(job)
  const summary = placeCorrections(sections(result.summary, job.context), corrections)
  const changed = placeCorrections(change ? changeSections(change, place, new Set(changeParts)) : '', corrections)
  const placedNowhere = summary.rest.filter((one) => changed.rest.includes(one))
  const parts = [
    `# handoff: ${safeInline(handoff.repository)} at ${code(handoff.commit.slice(0, 12))}`,
    leadSentence(result),
    result.differences.length > 0 ? safeInline(describeOtherSettings(result)) : '',
    partialNote(handoff),
    diagram ? `## Who imports whom\n\n${diagramMarkdown(diagram, place)}` : '',
    change ? `## What this pull request changes\n\n${changed.markdown}` : '',
    `## Summary\n\n${summary.markdown}`,
    placedNowhere.length > 0 ? `## Corrections\n\n${correctionsMarkdown(placedNowhere, place)}` : '',
    `## How it was made\n\n${folded('What was read', coverage(handoff))}\n\n${folded('What it took', `${costTable(handoff)}\n\n${secondsTable(handoff)}`)}`,
    howToAsk(handoff),
    `<sub>Written by ${code(handoff.model.name)}; every link was checked.</sub>`,
  ]
  return fitMarkdown(parts.filter((part) => part !== '').join('\n\n'))
}

/** What changed, what it cost, and what was left out. */
function leadSentence({ handoff, reused, change }: SummariseResult): string {
  const { survey, cost } = handoff
  const changed = change?.change ? `This pull request changes ${changeSize(change.change)}; ` : ''
  const paid =
    cost === undefined ? 'the price of the summary is not known' : `the summary cost $${cost.amount.toFixed(4)}`
  const kept = Math.round(handoff.reusedPercent)
  const price = reused
    ? 'the commit was summarised before, so nothing was paid for again'
    : `${paid}${kept === 0 ? '' : `; it keeps ${kept} % of an earlier run`}`
  const left = survey.cut + survey.skipped
  const missing =
    left === 0
      ? 'all files were read whole'
      : `${count(left)} of ${count(survey.files)} files ${left === 1 ? 'was' : 'were'} not read whole`
  const sentence = `${changed}${price}, and ${missing}.`
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

/** Says that the reported run was made with other settings, and how to make a new one. */
export function describeOtherSettings({ run, differences }: SummariseResult): string {
  return `Run ${run} was made with other settings: ${differences.join('; ')}. To replace it with a new one, run the job with force: true.`
}

function partialNote({ partial }: Handoff): string {
  return partial === undefined ? '' : `**Not complete.** ${safeInline(partial)}`
}

/** The four sections of the summary, without its title, its table, and the note that stands at the top of the report. */
function sections(summary: string, context: Context): string {
  const end = summary.lastIndexOf('\n---\n')
  const text = summary
    .slice(0, end < 0 ? summary.length : end)
    .replace(/^# .*\n/, '')
    .replace(/^\s*> Not complete: .*\n/, '')
  return safeMarkdown(text, { host: new URL(context.serverUrl).host })
}

const reasonWords: Record<string, string> = { budget: 'no room' }

/** The first three rows add up to the last, and the reasons of a row to its number. */
function coverage({ survey, secrets }: Handoff): string {
  // A file that is read in part has no room for the rest, and is counted among the reasons.
  const skipped = { ...survey.reasons, budget: Math.max(0, (survey.reasons.budget ?? 0) - survey.cut) }
  const reasons = Object.entries(skipped).filter(([, files]) => (files ?? 0) > 0)
  const why = reasons.map(([reason, files]) => `${count(files ?? 0)} ${reasonWords[reason] ?? reason}`).join(', ')
  const rows = [
    ['Files', 'How many', 'Why'],
    ['read whole', count(survey.read), ''],
    ['read in part', count(survey.cut), survey.cut === 0 ? '' : `${count(survey.cut)} no room`],
    ['left out', count(survey.skipped), why],
    ['in the commit', count(survey.files), `${count(survey.bytes)} bytes`],
  ]
  const hidden =
    secrets === 0
      ? ''
      : `\n\n${count(secrets)} ${secrets === 1 ? 'place looks like a credential and was' : 'places look like credentials and were'} hidden from the model.`
  return `${safeTable(rows)}${hidden}`
}

function costTable(handoff: Handoff): string {
  const { usage, cost, model, sandbox } = handoff
  const price = cost === undefined ? 'unknown: give llm-price-input and llm-price-output' : `$${cost.amount.toFixed(4)}`
  const rows = [
    ['What', 'How much'],
    ['Model', code(model.name)],
    [
      'Tokens',
      `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out${usage.estimated ? ' (counted here)' : ''}`,
    ],
    ['Cost', price],
    ['Reused from an earlier run', `${Math.round(handoff.reusedPercent)} %`],
    ['Sandbox', `${code(sandbox.id)} (template ${code(sandbox.template)})`],
    ['Run', code(handoff.run)],
  ]
  return safeTable(rows, (cell) => cell)
}

function secondsTable({ durations }: Handoff): string {
  const rows = Object.entries(durations).map(([step, milliseconds]) => [step, (milliseconds / 1_000).toFixed(1)])
  return safeTable([['Step', 'Seconds'], ...rows])
}

const folded = (title: string, text: string) => `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`

function howToAsk(handoff: Handoff): string {
  return `## Ask\n\nWrite ${code('/ask how does it start?')} on a pull request, or run this action with ${code('mode: ask')}, a ${code('question')} and ${code(`run: ${handoff.run}`)}.`
}
