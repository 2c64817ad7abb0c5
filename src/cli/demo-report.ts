// What the demo shows at the end, for people and as one JSON document.
import {
  type AnswerResult,
  artifact,
  type Citation,
  fullName,
  type Handoff,
  type SummariseResult,
} from '../handoff/index.js'
import type { OpenClouds } from './resolve-clouds.js'
import type { Subject } from './resolve-repository.js'
import { harmless, seconds, type Terminal } from './terminal.js'

export interface DemoReport {
  repository: string
  commit: string
  run: string
  runDirectory: string
  summary: string
  handoff: Handoff
  question: string
  answer: string
  citations: Citation[]
  verified: string
  model: string
  sandboxes: { id: string; role: 'summarise' | 'ask'; created: string; killed: string | null }[]
  timings: { summarise: Record<string, number>; ask: Record<string, number>; total: number }
  usage: { summarise: Handoff['usage']; ask: AnswerResult['record']['usage'] }
  files: { path: string; bytes: number }[]
  clouds: Record<string, string>
}

interface DemoFacts {
  subject: Subject
  summary: SummariseResult
  answer: AnswerResult
  sandboxes: DemoReport['sandboxes']
  tree: { path: string; bytes: number }[]
  clouds: OpenClouds
  milliseconds: number
}

export function reportOf({ subject, summary, answer, sandboxes, tree, clouds, milliseconds }: DemoFacts): DemoReport {
  const { record } = answer
  const good = record.citations.filter((citation) => citation.verified).length
  return {
    repository: fullName(subject.commit.repository),
    commit: subject.commit.sha,
    run: summary.run,
    runDirectory: summary.directory,
    summary: summary.summary,
    handoff: summary.handoff,
    question: record.question,
    answer: record.text,
    citations: record.citations,
    verified: `${good} of ${record.citations.length} citations verified`,
    model: record.model,
    sandboxes,
    timings: {
      summarise: summary.handoff.durations,
      ask: Object.fromEntries(Object.entries(record.seconds).map(([step, value]) => [step, Math.round(value * 1_000)])),
      total: Math.round(milliseconds),
    },
    usage: { summarise: summary.handoff.usage, ask: record.usage },
    files: tree,
    clouds: Object.fromEntries(clouds.introduction.map(({ name, where }) => [name, where])),
  }
}

export function printReport(terminal: Terminal, report: DemoReport): void {
  terminal.heading(`Summary (${artifact.summary}, its first lines)`)
  for (const line of firstLines(report.summary, 24)) terminal.line(`  ${harmless(line)}`)
  terminal.heading('Answer')
  for (const line of report.answer.split('\n')) terminal.line(`  ${harmless(line)}`)
  terminal.heading(`Sources (${report.verified})`)
  for (const citation of report.citations.filter((entry) => entry.verified)) {
    terminal.line(
      `  ${harmless(citation.path)}:${citation.from}${citation.to > citation.from ? `-${citation.to}` : ''}`,
    )
  }
  terminal.heading(`Run directory ${report.runDirectory}`)
  for (const file of report.files) terminal.line(`  ${bytes(file.bytes).padStart(9)}  ${harmless(file.path)}`)
  printTable(terminal, report)
}

function printTable(terminal: Terminal, report: DemoReport): void {
  terminal.heading('Time and tokens')
  for (const [workflow, title] of [
    ['summarise', 'Sandbox A: summarise'],
    ['ask', 'Sandbox B: ask'],
  ] as const) {
    const usage = report.usage[workflow]
    terminal.line(`  ${title.padEnd(24)} ${usage.inputTokens} tokens in, ${usage.outputTokens} out`)
    for (const [step, milliseconds] of Object.entries(report.timings[workflow]))
      terminal.line(`    ${step.padEnd(22)} ${seconds(milliseconds).padStart(8)}`)
  }
  terminal.line(`  ${'in all'.padEnd(24)} ${seconds(report.timings.total).padStart(8)}`)
}

function firstLines(text: string, most: number): string[] {
  const lines = text.split('\n').map((line) => (line.length > 160 ? `${line.slice(0, 159)}…` : line))
  return lines.length <= most ? lines : [...lines.slice(0, most), `… ${lines.length - most} more lines`]
}

function bytes(count: number): string {
  if (count < 10_000) return `${count} B`
  return count < 10_000_000 ? `${Math.round(count / 1_000)} kB` : `${Math.round(count / 1_000_000)} MB`
}
