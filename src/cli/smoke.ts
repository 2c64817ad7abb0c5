// `npm run smoke`: the smoke test on the clouds that are set.
import { createContext } from '../handoff/index.js'
import { type Given, runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'
import { openClouds } from './resolve-clouds.js'
import { programText } from './sandbox-program.js'
import { smokeTest } from './smoke-test.js'
import { makeTerminal } from './terminal.js'

const command = {
  name: 'smoke',
  description:
    'Checks that sandboxes and drive9 work together: one sandbox mounts, writes and drains, the host reads back, a second sandbox reads.',
  options: {},
  example: 'smoke',
  cost: 'two sandboxes for some seconds each; no model. Nothing where E2B_API_KEY is not set.',
} as const

async function runSmoke({ untilInterrupted }: Given<typeof command.options>): Promise<void> {
  const terminal = makeTerminal({ out: process.stdout, environment: readEnvironment() })
  await using clouds = await openClouds(readEnvironment())
  for (const { name, where } of clouds.introduction.filter((cloud) => cloud.name !== 'model'))
    terminal.line(`  ${name.padEnd(9)} ${where}`)
  clouds.refuseImpossibleMix('https://unused.invalid')
  const context = createContext(clouds.settings(), { program: programText, emit: (event) => terminal.event(event) })
  await smokeTest(context, terminal, untilInterrupted())
  terminal.line('The sandboxes and the directory work together.')
}

await runCommand(command, runSmoke)
