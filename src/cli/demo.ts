// `npm run demo`: the whole product in one command. Summarises a commit in Sandbox A, destroys it, and asks a question in Sandbox B.
import { performance } from 'node:perf_hooks'
import {
  type AnswerResult,
  type AppContext,
  answerQuestion,
  type Commit,
  createContext,
  parseQuestion,
  type SummariseResult,
  summarise,
} from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { type DemoReport, printReport, reportOf } from './demo-report.js'
import { readEnvironment } from './load-env.js'
import { type OpenClouds, openClouds } from './resolve-clouds.js'
import { namesTarget, resolveTarget, type Subject } from './resolve-repository.js'
import { programText, repositoryRoot } from './sandbox-program.js'
import { makeTerminal, type Terminal } from './terminal.js'

const defaultQuestion = 'What must handoff.json hash to before a reader believes a run?'
const otherQuestion = 'What does this project do, and where does the work start?'

const command = {
  name: 'demo',
  description: `Runs the whole product on one commit: Sandbox A summarises it and is destroyed, then Sandbox B finds the lines for a question.
The repository is a path, an http(s) address (…/tree/<branch> works too) or owner/name on GitHub; this one when absent.
Services whose key is not set run on this machine.`,
  positionals: { usage: '[repository] ["question"]', least: 0, most: 2 },
  options: { json: { type: 'boolean', help: 'one JSON document instead of the report' } },
  example: 'demo -- https://github.com/owner/name "Where are sessions stored?"',
  cost: 'nothing without keys; with them two sandboxes for about a minute, and the calls of the model for a summary and an answer.',
} as const

interface Arguments {
  target: string | undefined
  question: string
}

/** A single argument is a question where it cannot be the name of a repository. */
function readArguments(words: string[]): Arguments {
  const [first, second] = words
  const isTarget = first !== undefined && (second !== undefined || namesTarget(first))
  const question = isTarget ? (second ?? otherQuestion) : (first ?? defaultQuestion)
  // Before anything is paid for.
  return { target: isTarget ? first : undefined, question: parseQuestion(question) }
}

async function demo(given: Arguments, terminal: Terminal, stop: AbortSignal): Promise<DemoReport> {
  const started = performance.now()
  const sandboxes: DemoReport['sandboxes'] = []
  await using clouds = await openClouds(readEnvironment())
  introduce(terminal, clouds)
  const subject = await resolveTarget(given.target ?? repositoryRoot, clouds, stop)
  clouds.refuseImpossibleMix(subject.commit.cloneUrl)
  const settings = clouds.settings()
  const context = createContext(settings, {
    program: programText,
    emit(event) {
      terminal.event(event)
      note(event, sandboxes)
    },
  })
  const signal = AbortSignal.any([stop, AbortSignal.timeout(settings.limits.deadlineMs)])
  const cloneToken = subject.isRemote ? settings.cloneToken : undefined
  const { summary, answer } = await bothWorkflows(
    subject,
    { question: given.question, cloneToken },
    context,
    terminal,
    signal,
  )
  const tree = await treeOf(context, summary.directory, signal)
  return reportOf({ subject, summary, answer, sandboxes, tree, clouds, milliseconds: performance.now() - started })
}

async function bothWorkflows(
  subject: Subject,
  { question, cloneToken }: { question: string; cloneToken: string | undefined },
  context: AppContext,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<{ summary: SummariseResult; answer: AnswerResult }> {
  const { commit } = subject
  terminal.heading(`Summarise ${subject.title} at ${commit.sha.slice(0, 12)}`)
  if (subject.note) terminal.line(`  ${subject.note}`)
  const attempt = `demo-${context.ports.uniqueId()}`
  const token = { cloneToken }
  const summary = await summarise({ commit, attempt, form: 'tar', ...token }, context, signal)
  terminal.heading(`Ask: ${question.length > 200 ? `${question.slice(0, 200)}…` : question}`)
  const answer = await answerQuestion(askRequest(commit, summary, question), context, signal)
  terminal.settle()
  return { summary, answer }
}

/** Lists the run directory. */
async function treeOf(
  context: AppContext,
  directory: string,
  signal: AbortSignal,
): Promise<{ path: string; bytes: number }[]> {
  const below = async (folder: string): Promise<{ path: string; bytes: number }[]> => {
    const entries = await context.ports.drive.list(`${directory}${folder}`, signal)
    const found = await Promise.all(
      entries.map(async ({ name, isDirectory, size }) =>
        isDirectory ? below(`${folder}/${name}`) : [{ path: `${folder}/${name}`.slice(1), bytes: size }],
      ),
    )
    return found.flat()
  }
  return (await below('')).sort((a, b) => (a.path < b.path ? -1 : 1))
}

function askRequest(commit: Commit, summary: SummariseResult, question: string) {
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
  const sandboxEvent = event as { type: string; id: string; role: 'summarise' | 'ask' }
  if (sandboxEvent.type === 'sandbox-open')
    sandboxes.push({ id: sandboxEvent.id, role: sandboxEvent.role, created: new Date().toISOString(), killed: null })
  if (sandboxEvent.type === 'sandbox-gone') {
    const sandbox = sandboxes.find((entry) => entry.id === sandboxEvent.id)
    if (sandbox) sandbox.killed = new Date().toISOString()
  }
}

async function runDemo({ values, positionals, untilInterrupted }: Given<typeof command.options>): Promise<void> {
  const given = readArguments(positionals)
  const out = values.json ? process.stderr : process.stdout
  const terminal = makeTerminal({ out, environment: readEnvironment() })
  try {
    const report = await demo(given, terminal, untilInterrupted())
    if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
    else printReport(terminal, report)
  } finally {
    terminal.settle()
  }
}

await runCommand(command, runDemo)
