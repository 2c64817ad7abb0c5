// `npm run setup`: from three keys to a workflow that runs. Each step says what is right already, so it can be run again at any time.

import { isAbsolute, join } from 'node:path'
import { buildTemplate, findTemplate } from '../handoff/clients/e2b/build-template.js'
import { parseDriveSettings } from '../handoff/domain/drive-settings.js'
import { exampleModel } from '../handoff/domain/model-prices.js'
import { parseSandboxSettings, parseSettings } from '../handoff/domain/settings.js'
import { settingTable } from '../handoff/domain/settings-reference.js'
import { createContext, HandoffError, isHandoffError, makeDrive, makeSandboxes } from '../handoff/index.js'
import { fetchText } from '../handoff/util/http.js'
import type { Environment } from '../handoff/util/setting-reader.js'
import { type Given, runCommand } from './command-line.js'
import { readEnvFile, writeEnvFile } from './env-file.js'
import { askLine, askSecret } from './prompt.js'
import { programText, repositoryRoot } from './sandbox-program.js'
import { secretLines, workflowText } from './setup-workflow.js'
import { smokeTest } from './smoke-test.js'
import { harmless, makeTerminal, seconds, type Terminal } from './terminal.js'

const command = {
  name: 'setup',
  description:
    'Takes the three keys to a workflow that runs: checks each key, builds the E2B template, tests, writes .env. Says what is right already.',
  options: {
    yes: { type: 'boolean', help: 'ask nothing; the keys are in the environment or in the file' },
    file: {
      type: 'string',
      value: 'PATH',
      default: '.env',
      help: 'the file that settings are read from and written to',
    },
    repository: { type: 'string', value: 'OWNER/NAME', help: 'the repository that the secrets are printed for' },
  },
  example: 'setup',
  cost: 'at first one build of a template, some minutes in your E2B account; each time two sandboxes for seconds. No model is asked.',
} as const

interface Key {
  name: 'E2B_API_KEY' | 'DRIVE9_API_KEY' | 'LLM_API_KEY'
  of: string
  where: string
  check(environment: Environment, signal: AbortSignal): Promise<string>
}

const keys: Key[] = [
  {
    name: 'E2B_API_KEY',
    of: 'E2B',
    where: 'Make one at https://console.e2b.dev, under API keys. The free plan is enough.',
    async check(environment, signal) {
      await makeSandboxes(parseSandboxSettings(environment)).find({ handoff: 'setup' }, signal)
      return 'E2B accepts it'
    },
  },
  {
    name: 'DRIVE9_API_KEY',
    of: 'drive9',
    where:
      'Install drive9 with `curl -fsSL https://drive9.ai/install.sh | sh`; `drive9 create` makes an account and shows its key.',
    async check(environment, signal) {
      const { server, apiKey: key, objectHosts: hosts } = parseDriveSettings(environment)
      const { ready } = await makeDrive({ server, key, hosts }).status(signal)
      return ready ? 'drive9 accepts it' : 'drive9 accepts it, and is still making the account ready'
    },
  },
  {
    name: 'LLM_API_KEY',
    of: 'the model’s service',
    where: 'For OpenAI make one at https://platform.openai.com/api-keys. Any OpenAI-compatible service will do.',
    async check(environment, signal) {
      const { model } = createContext(parseSettings(environment), { program: programText, emit: () => undefined }).ports
      await reach(environment['LLM_BASE_URL'] ?? '', signal)
      await model.check?.(signal)
      return `${model.host} accepts it for ${model.name}`
    },
  },
]

/** The model check ignores a timeout of the service; setup reports it. */
async function reach(baseUrl: string, signal: AbortSignal): Promise<void> {
  try {
    await fetchText(`${baseUrl}/models`, { method: 'HEAD', redirect: 'follow', signal, timeoutMs: 10_000 })
  } catch (cause) {
    if (signal.aborted) throw cause
    throw new HandoffError('model', `The model’s service at ${baseUrl} cannot be reached.`, {
      cause,
      next: 'Check LLM_BASE_URL: it ends before /chat/completions.',
    })
  }
}

interface Setup {
  terminal: Terminal
  interactive: boolean
  environment: Environment
  signal: AbortSignal
}

const has = (environment: Environment, name: string) => (environment[name] ?? '').trim() !== ''

/** Keys go into the file and through a shell as they are. */
const plainText = /^[!-~]+$/
const unusual = /["'`$#\\]/

async function setUp({ values, untilInterrupted }: Given<typeof command.options>): Promise<void> {
  const file = isAbsolute(values.file) ? values.file : join(repositoryRoot, values.file)
  const known = readEnvFile(file)
  const environment: Environment = { ...known, ...withoutEmpty(process.env) }
  const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true && values.yes !== true
  const terminal = makeTerminal({ out: process.stdout, environment: process.env })
  const setup = { terminal, interactive, environment, signal: untilInterrupted() }
  if (values.repository !== undefined && !/^[\w.-]+\/[\w.-]+$/.test(values.repository)) {
    throw new HandoffError('invalid-input', `“${values.repository}” is not owner/name.`, {
      next: 'Write it like --repository acme/tools.',
    })
  }

  refuseMissing(setup)
  terminal.heading('1. Keys')
  for (const key of keys) await settle(setup, key)
  const changed = writeEnvFile(file, settingsOf(environment))
  const kept =
    changed.length === 0 ? `${values.file} has all of it already` : `${values.file} now has ${changed.join(', ')}`
  done(terminal, `${kept}; only you can read it`)

  terminal.heading('2. Template')
  await settleTemplate(setup)

  terminal.heading('3. Sandboxes and drive9 together')
  const context = createContext(parseSettings(environment), {
    program: programText,
    emit: (event) => terminal.event(event),
  })
  await smokeTest(context, terminal, setup.signal)

  terminal.heading('4. Your repository')
  terminal.line('Set the secrets; each value goes from the file to GitHub and is not shown:\n')
  terminal.line(
    secretLines(
      keys.map(({ name }) => name),
      values.file,
      values.repository,
    ),
  )
  terminal.line('\nCommit this as .github/workflows/handoff.yml to the default branch, and push:\n')
  terminal.line(workflowText(settingsOf(environment)))
}

const withoutEmpty = (environment: Environment) =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => has(environment, name)))

const done = (terminal: Terminal, text: string) => terminal.line(`  ✓ ${text}`)

/** Without a terminal, one error lists all missing settings. */
function refuseMissing({ interactive, environment }: Setup): void {
  const missing = keys.filter(({ name }) => !has(environment, name))
  if (interactive || missing.length === 0) return
  throw new HandoffError('missing-setting', `These keys are missing: ${missing.map(({ name }) => name).join(', ')}.`, {
    next: missing.map(({ name, where }) => `${name}: ${where}`).join('\n'),
  })
}

const tries = 3

/** Ends with a key that its service accepts. One that is refused may be typed again. */
async function settle(setup: Setup, key: Key): Promise<void> {
  const { terminal, interactive, environment, signal } = setup
  for (let left = tries; ; left -= 1) {
    if (!has(environment, key.name)) {
      terminal.line(`  ${key.where}`)
      environment[key.name] = await askSecret(`  ${key.name}, the key of ${key.of}`, signal)
    }
    if (key.name === 'LLM_API_KEY') await settleModel(setup)
    try {
      expectPlain(key.name, environment[key.name] ?? '')
      return done(terminal, `${key.name}: ${await key.check(environment, signal)}`)
    } catch (error) {
      if (!interactive || left <= 1 || signal.aborted || !isHandoffError(error)) throw error
      terminal.line(`  ✗ ${harmless([error.message, error.next].filter(Boolean).join(' '))}`)
      delete environment[key.name]
      if (key.name === 'LLM_API_KEY') delete environment['LLM_MODEL']
    }
  }
}

/** The model's name belongs to its key, and so does the address. */
async function settleModel({ interactive, environment, signal }: Setup): Promise<void> {
  const ask = (question: string, usual: string) => (interactive ? askLine(question, usual, signal) : usual)
  if (!has(environment, 'LLM_MODEL')) {
    environment['LLM_BASE_URL'] = await ask(
      '  Address of the model’s service',
      environment['LLM_BASE_URL'] ?? usualService,
    )
    environment['LLM_MODEL'] = await ask('  Name of the model', exampleModel)
  }
  environment['LLM_BASE_URL'] ??= usualService
}

const usualService = settingTable.find(({ name }) => name === 'LLM_BASE_URL')?.example ?? ''

function expectPlain(name: string, value: string): void {
  if (value.length < 400_000 && plainText.test(value) && !unusual.test(value)) return
  throw new HandoffError('invalid-input', `${name} has spaces or quotes, or other signs that no key has.`, {
    next: 'Copy the key again, and nothing around it.',
  })
}

/** What belongs into the file: all that says which services are used and how. */
function settingsOf(environment: Environment): Record<string, string> {
  const groups = ['sandboxes', 'durable directory', 'model']
  const own = settingTable.filter(({ group, name, example }) => {
    return groups.includes(group) && has(environment, name) && environment[name] !== example
  })
  return Object.fromEntries(own.map(({ name }) => [name, environment[name]!.trim()]))
}

async function settleTemplate({ terminal, environment, signal }: Setup): Promise<void> {
  const settings = parseSandboxSettings(environment)
  const found = await findTemplate(settings, signal)
  if (found.ready) return done(terminal, `${found.name} is there already`)
  if (settings.template !== undefined) {
    throw new HandoffError('missing-setting', `This E2B account has no template ${settings.template}.`, {
      next: 'Take E2B_TEMPLATE out to use handoff’s own, or build that one with npm run template.',
    })
  }
  terminal.line(`  E2B builds ${found.name}, which takes some minutes:`)
  const begun = Date.now()
  // Each step's script is shown by its first line; the rest is in E2B's dashboard.
  const show = (line: string) =>
    terminal.line(`    ${seconds(Date.now() - begun).padStart(7)}  ${harmless(line.split('\n')[0] ?? '')}`)
  const { drive9 } = await buildTemplate(settings, show, signal)
  done(
    terminal,
    `${found.name} is ready after ${seconds(Date.now() - begun)}, with the drive9 program ${drive9.sha256.slice(0, 12)}…`,
  )
}

await runCommand(command, setUp)
