// `npm run clouds`: starts the three clouds on this machine, prints the settings that use them, and keeps them until it is interrupted.
import { startClouds } from '../emulators/start-all.js'
import { runCommand } from './command-line.js'

const command = {
  name: 'clouds',
  description:
    'Starts sandboxes, drive9 and a model on this machine and prints the settings that use them. Ctrl-C ends them.',
  options: {},
  example: 'clouds',
  cost: 'nothing; no account is used.',
} as const

await runCommand(command, async ({ untilInterrupted }) => {
  const stop = untilInterrupted()
  const clouds = await startClouds()
  process.stdout.write('# The local clouds are running; Ctrl-C ends them. In another terminal:\n')
  for (const [name, value] of Object.entries(clouds.settings)) process.stdout.write(`export ${name}=${value}\n`)
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve))
  await clouds.close()
})
