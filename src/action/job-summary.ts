// Markdown of a run: the job summary, and the one comment on a pull request. Text of the model and names from the repository are sanitised.
import {
  fitMarkdown,
  type Handoff,
  type SummariseResult,
  safeInline,
  safeMarkdown,
  safeTable,
  summaryMarker,
} from '../handoff/index.js'
import { type Context, workflowRunUrl } from './event-context.js'

/** GitHub rejects comments over 65,536 characters. A text has at least as many bytes as characters. */
const commentBytes = 60_000

const count = (value: number) => value.toLocaleString('en-US')
const code = (text: string) => `\`${text.replace(/[`\r\n|]/g, ' ')}\``

export function summaryReport(result: SummariseResult, context: Context): string {
  const { handoff } = result
  const parts = [
    `# handoff: ${safeInline(handoff.repository)} at ${code(handoff.commit.slice(0, 12))}`,
    result.reused ? 'This commit was summarised before; nothing was paid for again.' : '',
    result.differences.length > 0 ? safeInline(describeOtherSettings(result)) : '',
    partialNote(handoff),
    sections(result.summary, context),
    '## What was read',
    coverage(handoff),
    '## What it took',
    costLine(handoff),
    secondsTable(handoff),
    howToAsk(handoff),
  ]
  return fitMarkdown(parts.filter((part) => part !== '').join('\n\n'))
}

/** Says that the reported run was made with other settings, and how to make a new one. */
export function describeOtherSettings({ run, differences }: SummariseResult): string {
  return `Run ${run} was made with other settings: ${differences.join('; ')}. To replace it with a new one, run the job with force: true.`
}

export function stickyComment(handoff: Handoff, summary: string, context: Context): string {
  const parts = [
    `${summaryMarker}\n### What this repository is at ${code(handoff.commit.slice(0, 7))}`,
    partialNote(handoff),
    sections(summary, context),
    `<details>\n<summary>What was read, and what it took</summary>\n\n${coverage(handoff)}\n\n${costLine(handoff)}\n\n</details>`,
    `Ask about it: ${code('/ask your question')}. [The run](${workflowRunUrl(context)})`,
  ]
  return fitMarkdown(parts.filter((part) => part !== '').join('\n\n'), commentBytes)
}

function partialNote({ partial }: Handoff): string {
  return partial === undefined ? '' : `**Not complete.** ${safeInline(partial)}`
}

/** The four sections of the summary, without its title and table. */
function sections(summary: string, context: Context): string {
  const end = summary.lastIndexOf('\n---\n')
  const text = summary.slice(0, end < 0 ? summary.length : end).replace(/^# .*\n/, '')
  return safeMarkdown(text, { repository: { host: new URL(context.serverUrl).host, path: context.repository } })
}

function coverage({ survey, secrets }: Handoff): string {
  const reasons = Object.entries(survey.reasons).filter(([, files]) => (files ?? 0) > 0)
  const rows = [
    ['Files', 'How many', 'Why'],
    ['read whole', count(survey.read), ''],
    ['read in part', count(survey.cut), ''],
    ['left out', count(survey.skipped), reasons.map(([reason, files]) => `${count(files ?? 0)} ${reason}`).join(', ')],
    ['in the commit', count(survey.files), `${count(survey.bytes)} bytes`],
  ]
  const hidden =
    secrets === 0
      ? ''
      : `\n\n${count(secrets)} ${secrets === 1 ? 'place looks like a credential and was' : 'places look like credentials and were'} hidden from the model.`
  return `${safeTable(rows)}${hidden}`
}

function costLine(handoff: Handoff): string {
  const { usage, cost, model, sandbox } = handoff
  const price = cost === undefined ? 'unknown: give llm-price-input and llm-price-output' : `$${cost.amount.toFixed(4)}`
  const rows = [
    ['', ''],
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

function howToAsk(handoff: Handoff): string {
  return `## Ask\n\nWrite ${code('/ask how does it start?')} on a pull request, or run this action with ${code('mode: ask')}, a ${code('question')} and ${code(`run: ${handoff.run}`)}.`
}
