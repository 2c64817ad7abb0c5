// `npm run ask`: a question from a terminal about a commit that was summarised before, or about what changed between two of them.
import { parseArgs } from 'node:util'
import {
  type AskRequest,
  answerMarkdown,
  ask,
  connect,
  HandoffError,
  isHandoffError,
  parseRepository,
  parseSettings,
  type RunName,
} from '../handoff/index.js'
import { readEnvironment } from './environment.js'
import { programText } from './program.js'
import { harmless, makeTerminal } from './terminal.js'

const usage = `Usage: npm run ask -- --repository owner/name [options] "question"

  --of NAME            what is asked about: a run id, a full commit id, a branch, or #12 for a pull request; main when absent
  --compare-with NAME  an earlier one: the question is about what changed from it
  --host name          the git host; github.com when absent
  --clone-url address  where branches are looked up; https://<host>/<owner>/<name>.git when absent
  --fresh              answer again although there is an answer
  --json               the answer's record as JSON
  --help
`

const options = {
  repository: { type: 'string' },
  of: { type: 'string', default: 'main' },
  'compare-with': { type: 'string' },
  host: { type: 'string', default: 'github.com' },
  'clone-url': { type: 'string' },
  fresh: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** A run id, a commit id, `#12`, or a branch. */
function nameOf(text: string): RunName {
  if (/^[0-9a-f]{40}$/.test(text)) return { commit: text }
  if (/^[0-9a-f]{40}-/.test(text)) return { run: text }
  const pull = /^#(\d+)$/.exec(text)
  if (pull) return { ref: `refs/pull/${pull[1]}` }
  return { ref: text.startsWith('refs/') ? text : `refs/heads/${text}` }
}

interface Wanted {
  request: AskRequest
  json: boolean
}

function readArguments(words: string[]): Wanted | undefined {
  const { values, positionals } = parse(words)
  if (values.help) return undefined
  const [text] = positionals
  if (values.repository === undefined || text === undefined || positionals.length > 1) {
    throw new HandoffError('invalid-input', 'A repository and one question are needed.', {
      next: usage.split('\n')[0] ?? '',
    })
  }
  const repository = parseRepository(values.repository, values.host)
  const earlier = values['compare-with']
  return {
    json: values.json,
    request: {
      repository,
      cloneUrl: values['clone-url'] ?? `https://${values.host}/${values.repository}.git`,
      name: nameOf(values.of),
      question: { text, asker: 'terminal', fresh: values.fresh },
      ...(earlier === undefined ? {} : { compareWith: nameOf(earlier) }),
    },
  }
}

function parse(words: string[]) {
  try {
    return parseArgs({ args: words, options, allowPositionals: true })
  } catch (error) {
    throw new HandoffError('invalid-input', (error as Error).message, {
      next: usage.split('\n')[0] ?? '',
      cause: error,
    })
  }
}

async function answer({ request, json }: Wanted, stop: AbortSignal): Promise<void> {
  const settings = parseSettings(readEnvironment())
  const terminal = makeTerminal({ out: process.stderr, environment: process.env })
  const house = connect(settings, { program: programText, emit: (event) => terminal.event(event) })
  const signal = AbortSignal.any([stop, AbortSignal.timeout(settings.limits.deadlineMs)])
  const { record, run, reused } = await ask(request, house, signal)
  terminal.settle()
  const { host, owner, name } = request.repository
  const place = { host, repository: `${owner}/${name}` }
  const notes = run.behind
    ? [`The head is ${run.behind.head.slice(0, 7)} by now; this is about ${record.commit.slice(0, 7)}.`]
    : []
  if (json) process.stdout.write(`${JSON.stringify(record, null, 2)}\n`)
  else process.stdout.write(`${harmless(answerMarkdown(record, place, { form: 'file', reused, notes }))}\n`)
}

async function main(): Promise<number> {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  try {
    const wanted = readArguments(process.argv.slice(2))
    if (wanted) await answer(wanted, stop.signal)
    else process.stdout.write(usage)
    return 0
  } catch (error) {
    if (!isHandoffError(error)) throw error
    process.stderr.write(`${harmless(error.message)}${error.next ? `\n${harmless(error.next)}` : ''}\n`)
    return stop.signal.aborted ? 130 : 1
  }
}

process.exitCode = await main()
