// `npm run ask`: a question from a terminal about a commit that was summarised before, or about what changed between two of them.
import {
  type AnswerRequest,
  answerMarkdown,
  answerQuestion,
  createContext,
  depthNamed,
  depths,
  HandoffError,
  parseRepository,
  parseRunName,
  parseSettings,
} from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'
import { programText } from './sandbox-program.js'
import { harmless, makeTerminal } from './terminal.js'

const command = {
  name: 'ask',
  description: 'Asks about a commit that was summarised before, or about what changed between two such commits.',
  positionals: { usage: '"question"', least: 1, most: 1 },
  options: {
    repository: { type: 'string', value: 'OWNER/NAME', help: 'the repository; needed' },
    of: {
      type: 'string',
      value: 'NAME',
      default: 'main',
      help: 'the subject: a run id, a full commit id, a branch, or #12 for a pull request',
    },
    'compare-with': {
      type: 'string',
      value: 'NAME',
      help: 'an earlier one: the question is about what changed from it',
    },
    host: { type: 'string', value: 'HOST', default: 'github.com', help: 'the git host' },
    'clone-url': {
      type: 'string',
      value: 'URL',
      help: 'where branches are looked up; https://<host>/<owner>/<name>.git when absent',
    },
    fresh: { type: 'boolean', help: 'answer again although there is an answer' },
    depth: {
      type: 'string',
      value: 'DEPTH',
      help: 'quick, normal or deep: how much may be read, and what it may cost',
    },
    json: { type: 'boolean', help: "the answer's record as JSON" },
  },
  example: 'ask -- --repository owner/name "How is a request retried?"',
  cost: 'one sandbox for seconds and one or a few calls of the model; nothing where the answer is stored.',
} as const

interface Wanted {
  request: AnswerRequest
  json: boolean
}

function readWanted({ values, positionals }: Given<typeof command.options>): Wanted {
  const { repository: fullName, host, 'compare-with': earlier } = values
  const depth = values.depth === undefined ? undefined : depthNamed(values.depth)
  if (fullName === undefined) {
    throw new HandoffError('invalid-input', 'The repository is missing.', { next: 'Name it: --repository owner/name.' })
  }
  if (values.depth !== undefined && depth === undefined) {
    throw new HandoffError('invalid-input', `--depth is none of ${depths.join(', ')}.`, { next: 'Write --depth deep.' })
  }
  return {
    json: values.json ?? false,
    request: {
      repository: parseRepository(fullName, host),
      cloneUrl: values['clone-url'] ?? `https://${host}/${fullName}.git`,
      name: parseRunName(values.of),
      question: {
        text: positionals[0] ?? '',
        asker: 'terminal',
        fresh: values.fresh ?? false,
        depth,
      },
      ...(earlier === undefined ? {} : { compareWith: parseRunName(earlier) }),
    },
  }
}

async function answer({ request, json }: Wanted, stop: AbortSignal): Promise<void> {
  const settings = parseSettings(readEnvironment())
  const terminal = makeTerminal({ out: process.stderr, environment: process.env })
  const context = createContext(settings, { program: programText, emit: (event) => terminal.event(event) })
  const signal = AbortSignal.any([stop, AbortSignal.timeout(settings.limits.deadlineMs)])
  const { record, run, reused } = await answerQuestion(request, context, signal)
  terminal.settle()
  const { host, owner, name } = request.repository
  const place = { host, repository: `${owner}/${name}` }
  const notes = run.behind
    ? [`The head is ${run.behind.head.slice(0, 7)} by now; this is about ${record.commit.slice(0, 7)}.`]
    : []
  if (json) process.stdout.write(`${JSON.stringify(record, null, 2)}\n`)
  else process.stdout.write(`${harmless(answerMarkdown(record, place, { form: 'file', reused, notes }))}\n`)
}

await runCommand(command, (given) => answer(readWanted(given), given.untilInterrupted()))
