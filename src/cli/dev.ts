// `npm run dev`: the page and the functions on this machine, from their sources, restarted when a source changes. A cloud without a key is an
// emulator. Summarises the surrounding repository first, so that there is a run to ask about.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buildPage } from '../build/page.js'
import { startGitRemote } from '../emulators/git-http-server.js'
import { checkFunctions } from '../emulators/vercel/check-imports.js'
import { type RunningFunctions, startFunctions } from '../emulators/vercel/start.js'
import { HandoffError } from '../handoff/index.js'
import { runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'
import { openClouds } from './resolve-clouds.js'
import { repositoryRoot } from './sandbox-program.js'
import { summariseHere } from './summarise-here.js'
import { reload } from './watch.js'

const say = (text: string) => process.stdout.write(`${text}\n`)
const name = 'local/handoff'

async function dev(stop: AbortSignal): Promise<void> {
  // Fails before the summary is paid for, and not after it.
  const port = await freePort(readEnvironment()['PORT']?.trim() || '3000')
  await Promise.all([checkFunctions(repositoryRoot), writePage()])
  await using clouds = await openClouds(readEnvironment())
  for (const cloud of clouds.introduction) say(`  ${cloud.name.padEnd(9)} ${cloud.where}`)
  await using remote = await startGitRemote({ repositories: { [name]: repositoryRoot } })
  const here = { directory: repositoryRoot, name, server: remote.url, cloneUrl: remote.cloneUrl(name) }
  const run = await summariseHere(clouds, here, say, stop)
  const token = randomBytes(16).toString('hex')
  const environment: Record<string, string> = {
    GITHUB_SERVER_URL: remote.url,
    ...definedOnly(clouds.environment),
    HANDOFF_BEARERS: `you=${createHash('sha256').update(token).digest('hex')}=*`,
  }
  await using serving = await reload({
    root: repositoryRoot,
    sources: ['api', 'src/handoff', 'src/service', 'vercel.json'],
    page: { folder: 'web', build: writePage },
    begin: () => begin(environment, port),
    say,
  })
  const { url } = serving.running()
  say(`\n  ${url}\n  repository ${name}\n  token      ${token}\n`)
  const headers = `-H 'authorization: Bearer ${token}' -H 'content-type: application/json'`
  const question = JSON.stringify({ repository: name, run, question: 'Where does the work start?' })
  say(`  curl ${url}/api/ask ${headers} -d '${question}'\n`)
  const params = { name: 'read_summary', arguments: { repository: name } }
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  say(`  curl ${url}/api/mcp ${headers} -H 'accept: application/json, text/event-stream' -d '${call}'\n`)
  await new Promise((resolve) => stop.addEventListener('abort', resolve))
}

const writePage = () => buildPage(repositoryRoot, join(repositoryRoot, 'dist/web'))

async function freePort(wanted: string): Promise<number> {
  const next = 'Name another one: PORT=… npm run dev'
  const port = /^\d{1,5}$/.test(wanted) ? Number(wanted) : 0
  if (port < 1 || port > 65_535) throw new HandoffError('invalid-input', 'PORT is not a number up to 65535.', { next })
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const probe = createServer().once('error', reject)
  probe.listen(port, '127.0.0.1', () => probe.close(resolve))
  await promise.catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${cause.code})`
    throw new HandoffError('conflict', `Port ${port} ${reason}.`, { next, cause })
  })
  return port
}

async function begin(environment: Record<string, string>, port: number): Promise<RunningFunctions> {
  await checkFunctions(repositoryRoot)
  return startFunctions({
    root: repositoryRoot,
    environment,
    fromSources: true,
    port,
    onOutput: (text) => process.stdout.write(text),
  })
}

function definedOnly(environment: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

const command = {
  name: 'dev',
  description:
    'Serves the page and the functions from their sources, and starts them again when a file changes. This repository is summarised first.',
  options: {},
  example: 'dev',
  cost: 'nothing without keys; with LLM_API_KEY and E2B_API_KEY each start pays for one summary of this repository.',
} as const

await runCommand(command, ({ untilInterrupted }) => dev(untilInterrupted()))
