// `npm run conformance`: which promises that handoff stands on hold on an E2B service and a drive9 server, one line each.
import { createContext, HandoffError } from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { type CheckResult, checkNames, runChecks } from './conformance-checks.js'
import { readEnvironment } from './load-env.js'
import { openClouds } from './resolve-clouds.js'
import { programText } from './sandbox-program.js'
import { makeTerminal, seconds } from './terminal.js'

const command = {
  name: 'conformance',
  description: `Checks which promises hold on an E2B service, hosted or your own, and on a drive9 server, and says what each miss means.
The keys are E2B_API_KEY and DRIVE9_API_KEY; a service whose key is not set is the emulator of this machine.`,
  positionals: { usage: '[E2B_API_URL]', least: 0, most: 1 },
  options: {
    drive9: { type: 'string', value: 'SERVER', help: 'the drive9 server; DRIVE9_SERVER when absent' },
    outside: {
      type: 'string',
      value: 'HOST:PORT',
      default: '1.1.1.1:443',
      help: 'an address that a sandbox with limited egress must not reach',
    },
    only: { type: 'string', value: 'CHECK', multiple: true, help: `one check, by its name; may be repeated` },
    json: { type: 'boolean', help: 'as JSON, one object' },
  },
  example: 'conformance -- https://api.e2b.example.com --drive9 https://drive9.example.com',
  cost: 'five sandboxes for some seconds each; no model. Nothing where E2B_API_KEY is not set.',
} as const

const signs = { holds: '✓', fails: '✗', absent: '–', 'not checked': '·' } as const

async function check({ values, positionals, untilInterrupted }: Given<typeof command.options>): Promise<number> {
  const [apiUrl] = positionals
  const unknown = values.only?.find((name) => !checkNames.includes(name))
  if (unknown !== undefined) {
    throw new HandoffError('invalid-input', `There is no check “${unknown}”.`, {
      next: `The checks are: ${checkNames.join('; ')}.`,
    })
  }
  const environment = {
    ...readEnvironment(),
    ...(apiUrl === undefined ? {} : { E2B_API_URL: apiUrl }),
    ...(values.drive9 === undefined ? {} : { DRIVE9_SERVER: values.drive9 }),
  }
  const terminal = makeTerminal({ out: values.json ? process.stderr : process.stdout, environment })
  await using clouds = await openClouds(environment)
  for (const { name, where } of clouds.introduction.filter((cloud) => cloud.name !== 'model'))
    terminal.line(`  ${name.padEnd(9)} ${where}`)
  clouds.refuseImpossibleMix('https://unused.invalid')
  const context = createContext(clouds.settings(), {
    program: programText,
    emit: (event) => event.type === 'notice' && terminal.event(event),
  })
  const isLocal = clouds.local.sandboxes !== undefined
  const results = await runChecks(
    {
      context,
      directory: `${context.root}/_conformance/${context.ports.uniqueId()}`,
      ...(isLocal ? {} : { outside: outsideOf(values.outside) }),
      signal: untilInterrupted(),
    },
    (result) => terminal.line(lineOf(result)),
    values.only,
  )
  if (values.json) process.stdout.write(`${JSON.stringify({ checks: results }, null, 2)}\n`)
  const failed = results.filter(({ outcome }) => outcome === 'fails').length
  terminal.line(failed === 0 ? 'handoff works on these services.' : `${failed} of ${results.length} checks fail.`)
  return failed === 0 ? 0 : 1
}

function lineOf({ name, outcome, seconds: taken, problem, meaning }: CheckResult): string {
  const head = `  ${signs[outcome]} ${name.padEnd(22)}`
  if (outcome === 'holds') return `${head} ${seconds(taken * 1_000).padStart(8)}`
  return outcome === 'not checked' ? `${head} not checked` : `${head} ${problem} ${meaning}`
}

function outsideOf(text: string): { host: string; port: number } {
  const [, host, port] = /^([A-Za-z0-9.-]{1,253}):(\d{1,5})$/.exec(text) ?? []
  if (host !== undefined && port !== undefined) return { host, port: Number(port) }
  throw new HandoffError('invalid-input', '--outside is not HOST:PORT.', { next: 'See npm run conformance -- --help.' })
}

await runCommand(command, check)
