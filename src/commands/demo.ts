// `npm run demo`: the whole product in one go. Summarises a commit in Sandbox A, destroys it, and asks a question in Sandbox B.
import { performance } from 'node:perf_hooks'
import {
  type AskResult,
  ask,
  type Commit,
  connect,
  HandoffError,
  type House,
  isHandoffError,
  type Summarised,
  summarise,
} from '../handoff/index.js'
import { type OpenClouds, openClouds } from './clouds-of.js'
import { type DemoReport, printReport, reportOf } from './demo-report.js'
import { readEnvironment } from './environment.js'
import { programText, repositoryRoot } from './program.js'
import { resolveTarget, type Subject } from './target.js'
import { makeTerminal, type Terminal } from './terminal.js'

const defaultQuestion = 'What must handoff.json hash to before a reader believes a run?'
const otherQuestion = 'What does this project do, and where does the work start?'

interface Arguments {
  target: string | undefined
  question: string
  json: boolean
}

function readArguments(words: string[]): Arguments {
  const unknown = words.filter((word) => word.startsWith('--') && word !== '--json')
  const plain = words.filter((word) => !word.startsWith('--'))
  if (unknown.length > 0 || plain.length > 2) {
    throw new HandoffError('invalid-input', `The demo does not know ${unknown[0] ?? plain[2]}.`, {
      next: 'Write: npm run demo -- <path or address> "<question>" [--json]',
    })
  }
  const [target, question] = plain
  return {
    target,
    question: question ?? (target === undefined ? defaultQuestion : otherQuestion),
    json: words.includes('--json'),
  }
}

async function demo(given: Arguments, terminal: Terminal, stop: AbortSignal): Promise<DemoReport> {
  const started = performance.now()
  const sandboxes: DemoReport['sandboxes'] = []
  await using clouds = await openClouds(readEnvironment())
  introduce(terminal, clouds)
  const subject = await resolveTarget(given.target ?? repositoryRoot, clouds, stop)
  clouds.refuseImpossibleMix(subject.commit.cloneUrl)
  const settings = clouds.settings()
  const house = connect(settings, {
    program: programText,
    emit(event) {
      terminal.event(event)
      note(event, sandboxes)
    },
  })
  const signal = AbortSignal.any([stop, AbortSignal.timeout(settings.limits.deadlineMs)])
  const { summary, answer } = await bothWalks(subject, given.question, house, terminal, signal)
  const tree = await clouds.tree(summary.directory)
  return reportOf({ subject, summary, answer, sandboxes, tree, clouds, milliseconds: performance.now() - started })
}

async function bothWalks(
  subject: Subject,
  question: string,
  house: House,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<{ summary: Summarised; answer: AskResult }> {
  const { commit } = subject
  terminal.heading(`Summarise ${subject.title} at ${commit.sha.slice(0, 12)}`)
  if (subject.note) terminal.line(`  ${subject.note}`)
  const summary = await summarise({ commit, attempt: `demo-${house.tools.uniqueId()}`, form: 'tar' }, house, signal)
  terminal.heading(`Ask: ${question}`)
  const answer = await ask(askRequest(commit, summary, question), house, signal)
  terminal.settle()
  return { summary, answer }
}

function askRequest(commit: Commit, summary: Summarised, question: string) {
  return {
    repository: commit.repository,
    cloneUrl: commit.cloneUrl,
    name: { run: summary.run },
    question: { text: question, asker: 'demo' },
  }
}

function introduce(terminal: Terminal, clouds: OpenClouds): void {
  terminal.line('handoff: a summary by Sandbox A, an answer by Sandbox B, one directory between them')
  terminal.line()
  for (const { name, where } of clouds.introduction) terminal.line(`  ${name.padEnd(9)} ${where}`)
}

function note(event: { type: string }, sandboxes: DemoReport['sandboxes']): void {
  const told = event as { type: string; id: string; role: 'summarise' | 'ask' }
  if (told.type === 'sandbox-open')
    sandboxes.push({ id: told.id, role: told.role, created: new Date().toISOString(), killed: null })
  if (told.type === 'sandbox-gone') {
    const sandbox = sandboxes.find((entry) => entry.id === told.id)
    if (sandbox) sandbox.killed = new Date().toISOString()
  }
}

/** The first interruption ends the walk in order (the sandbox is killed, the clouds are closed); a second one does not wait. */
function interruptions(terminal: Terminal): AbortSignal {
  const stop = new AbortController()
  const interrupted = () => {
    if (stop.signal.aborted) process.exit(130)
    terminal.line('Stopping: the sandbox is being destroyed. Press Ctrl-C again to leave at once.')
    stop.abort(new HandoffError('cancelled', 'The demo was interrupted.'))
  }
  process.on('SIGINT', interrupted)
  process.on('SIGTERM', interrupted)
  return stop.signal
}

async function main(): Promise<number> {
  const json = process.argv.includes('--json')
  const terminal = makeTerminal({ out: json ? process.stderr : process.stdout, environment: process.env })
  const stop = interruptions(terminal)
  try {
    const given = readArguments(process.argv.slice(2))
    const report = await demo(given, terminal, stop)
    if (given.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    else printReport(terminal, report)
    return 0
  } catch (error) {
    terminal.settle()
    const told = stop.aborted && !isHandoffError(error) ? (stop.reason as HandoffError) : error
    if (!isHandoffError(told)) throw told
    terminal.line(`\n${told.message}${told.next ? `\n${told.next}` : ''}`)
    return stop.aborted ? 130 : 1
  }
}

process.exitCode = await main()
