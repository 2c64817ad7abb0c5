// `npm run mcp`: the Model Context Protocol over standard input and output, as a client starts it. A cloud without a key is an emulator; then the
// repository is summarised first, and calls wait for that.
import { basename, resolve } from 'node:path'
import { startGitRemote } from '../emulators/git-http-server.js'
import { runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'
import { openClouds } from './resolve-clouds.js'
import { repositoryRoot } from './sandbox-program.js'
import { summariseHere } from './summarise-here.js'

const command = {
  name: 'mcp',
  description:
    'Serves the Model Context Protocol to the client that starts it. Without DRIVE9_API_KEY the repository at PATH is summarised first.',
  positionals: { usage: '[PATH]', least: 0, most: 1 },
  options: {},
  example: 'mcp -- ../my-project',
  cost: 'nothing without keys; with keys each question costs a sandbox and calls of the model.',
} as const

/** Standard output belongs to the protocol. */
const say = (text: string) => process.stderr.write(`${text}\n`)

async function serve(directory: string, stop: AbortSignal): Promise<void> {
  console.log = console.error
  const environment = readEnvironment()
  const isConfigured = (environment['DRIVE9_API_KEY'] ?? '').trim() !== ''
  await using clouds = await openClouds(environment)
  for (const { name, where } of clouds.introduction) say(`${name.padEnd(9)} ${where}`)
  for (const [setting, value] of Object.entries(clouds.environment))
    if (value !== undefined) process.env[setting] = value
  const { serveMcp } = await import('../service/mcp/stdio.js')
  if (isConfigured) return serveMcp(Promise.resolve(), stop)
  const name = `local/${basename(directory)}`
  await using remote = await startGitRemote({ repositories: { [name]: directory } })
  process.env['GITHUB_SERVER_URL'] = remote.url
  const here = { directory, name, server: remote.url, cloneUrl: remote.cloneUrl(name) }
  const summarising = summariseHere(clouds, here, say, stop)
  // Each call reports its failure.
  summarising.catch(({ message }: Error) => say(message))
  await serveMcp(summarising, stop)
  await summarising.catch(() => undefined)
}

await runCommand(command, ({ positionals, untilInterrupted }) =>
  serve(resolve(positionals[0] ?? repositoryRoot), untilInterrupted()),
)
