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
  parseQuestion,
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

/** Whatever comes after `--` is no option, also when it looks like one. */
function readArguments(words: string[]): Arguments {
  const end = words.indexOf('--')
  const [before, after] = end === -1 ? [words, []] : [words.slice(0, end), words.slice(end + 1)]
  const unknown = before.filter((word) => word.startsWith('--') && word !== '--json')
  const plain = [...before.filter((word) => !word.startsWith('--')), ...after]
  if (unknown.length > 0 || plain.length > 2) {
    throw new HandoffError('invalid-input', `The demo does not know ${unknown[0] ?? plain[2]}.`, {
      next: 'Write: npm run demo -- <path or address> "<question>" [--json]',
    })
  }
  const [target, question] = plain
  return {
    target,
    // Before anything is paid for.
    question: parseQuestion(question ?? (target === undefined ? defaultQuestion : otherQuestion)),
    json: before.includes('--json'),
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
  const cloneToken = subject.isRemote ? settings.cloneToken : undefined
  const { summary, answer } = await bothWalks(
    subject,
    { question: given.question, cloneToken },
    house,
    terminal,
    signal,
  )
  const tree = await treeOf(house, summary.directory, signal)
  return reportOf({ subject, summary, answer, sandboxes, tree, clouds, milliseconds: performance.now() - started })
}

async function bothWalks(
  subject: Subject,
  { question, cloneToken }: { question: string; cloneToken: string | undefined },
  house: House,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<{ summary: Summarised; answer: AskResult }> {
  const { commit } = subject
  terminal.heading(`Summarise ${subject.title} at ${commit.sha.slice(0, 12)}`)
  if (subject.note) terminal.line(`  ${subject.note}`)
  const attempt = `demo-${house.tools.uniqueId()}`
  const token = cloneToken === undefined ? {} : { cloneToken }
  const summary = await summarise({ commit, attempt, form: 'tar', ...token }, house, signal)
  terminal.heading(`Ask: ${question.length > 200 ? `${question.slice(0, 200)}…` : question}`)
  const answer = await ask(askRequest(commit, summary, question), house, signal)
  terminal.settle()
  return { summary, answer }
}

/** What the run directory holds, as anybody with its key would see it. */
async function treeOf(
  house: House,
  directory: string,
  signal: AbortSignal,
): Promise<{ path: string; bytes: number }[]> {
  const below = async (folder: string): Promise<{ path: string; bytes: number }[]> => {
    const entries = await house.tools.drive.list(`${directory}${folder}`, signal)
    const found = await Promise.all(
      entries.map(async ({ name, isDirectory, size }) =>
        isDirectory ? below(`${folder}/${name}`) : [{ path: `${folder}/${name}`.slice(1), bytes: size }],
      ),
    )
    return found.flat()
  }
  return (await below('')).sort((a, b) => (a.path < b.path ? -1 : 1))
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

/** Ctrl-C comes twice where npm's shell makes us npm's own child: from the terminal, and passed on by npm. */
const sameMoment = 700

/** The first interruption ends the walk in order (the sandbox is killed, the clouds are closed); a second one does not wait. */
function interruptions(terminal: Terminal): AbortSignal {
  const stop = new AbortController()
  let first = 0
  const interrupted = () => {
    if (stop.signal.aborted && performance.now() - first < sameMoment) return
    if (stop.signal.aborted) process.exit(130)
    first = performance.now()
    terminal.line('Stopping: the sandbox is being destroyed. Press Ctrl-C again to leave at once.')
    stop.abort(new HandoffError('cancelled', 'The demo was interrupted.'))
  }
  process.on('SIGINT', interrupted)
  process.on('SIGTERM', interrupted)
  return stop.signal
}

async function main(): Promise<number> {
  const json = process.argv.includes('--json')
  const terminal = makeTerminal({ out: json ? process.stderr : process.stdout, environment: readEnvironment() })
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
