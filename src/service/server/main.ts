// `npm start`: the page and the functions on a server of your own. It stops in order: running requests and jobs get their time, and every sandbox
// ends.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { stopJobs } from '../jobs/send-job.js'
import { functionNames, functionSettings, readPlatformSettings } from './platform-settings.js'
import { type RunningServer, type ServedFunction, startServer } from './server.js'

const root = join(import.meta.dirname, '../../..')

/** Of a signal from a terminal npm passes on another one, at once. */
const sameSignalMs = 1_000

const print = (text: string) => process.stdout.write(`${text}\n`)

/** Where the server listens, and how long it takes to stop. */
interface ServerSettings {
  host: string
  port: number
  stopSeconds: number
}

function readServerSettings(environment: Record<string, string | undefined>): ServerSettings {
  return {
    // A server that is to be reached from elsewhere says so, and has TLS in front of it.
    host: environment['HOST']?.trim() || '127.0.0.1',
    port: readInteger(environment, 'PORT', 3000, 65_535),
    // Docker ends a container ten seconds after it was asked to stop.
    stopSeconds: readInteger(environment, 'HANDOFF_STOP_SECONDS', 9, 300),
  }
}

function readInteger(
  environment: Record<string, string | undefined>,
  name: string,
  usual: number,
  most: number,
): number {
  const text = environment[name]?.trim() || String(usual)
  const value = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (value < 0 || value > most) throw new Error(`${name} has to be a whole number up to ${most}.`)
  return value
}

async function start({ host, port }: ServerSettings): Promise<RunningServer> {
  const [settings, names] = await Promise.all([readPlatformSettings(root), functionNames(root)])
  const load = async (name: string) => {
    if (!names.includes(name)) return undefined
    return ((await import(pathToFileURL(join(root, `${name}.ts`)).href)) as { default: ServedFunction }).default
  }
  return startServer({
    settings,
    staticFolder: join(root, settings.outputDirectory),
    load,
    settingsOf: (name) => functionSettings(settings, name),
    host,
    port,
  })
}

async function printHealth(url: string): Promise<void> {
  const response = await fetch(`${url}/api/health`)
  const { missing, wanted } = (await response.json()) as { missing: string[]; wanted: Record<string, string> }
  if (missing.length > 0) print(`Questions are refused until these are set: ${missing.join(', ')}.`)
  for (const [name, form] of Object.entries(wanted)) print(`${name} cannot be read: it has to be ${form}.`)
}

async function serve(settings: ServerSettings): Promise<void> {
  const server = await start(settings)
  print(`handoff listens at ${settings.host}, port ${new URL(server.url).port}: ${server.url}`)
  let stoppedAt: number | undefined
  const stop = async (why: string, code: number) => {
    if (stoppedAt !== undefined) {
      if (Date.now() - stoppedAt > sameSignalMs) process.exit(1)
      return
    }
    stoppedAt = Date.now()
    print(`${why}: what runs has ${settings.stopSeconds} s to end.`)
    const [inTime] = await Promise.all([server.stop(settings.stopSeconds * 1_000), stopJobs()])
    print(inTime ? 'Stopped.' : 'Stopped, before all that ran had ended.')
    process.exit(inTime ? code : 1)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal, 0))
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    void stop('After an error that nothing caught', 1)
  })
  await printHealth(server.url)
}

/** What the system says of an address that cannot be listened at. */
const listenErrors: Record<string, string> = {
  EADDRINUSE: 'is taken; set PORT to another one',
  EACCES: 'may not be used by this user; set PORT to one above 1023',
  EADDRNOTAVAIL: 'is not of this machine; set HOST to an address that is, or to 0.0.0.0 for all of them',
  ENOTFOUND: 'is not known; set HOST to an address of this machine, or to 0.0.0.0 for all of them',
}

const usage = 'Usage: npm run start -- [options]'
const help = `${usage}

Serves the page and the functions until it is asked to stop. The settings are in docs/settings.md and docs/self-hosting.md.

Options:
  --help  prints this

Example: npm run start

Cost: nothing by itself; each question costs a sandbox and the model's tokens.
`

/** False when the help was asked for. A wrong argument ends the process before anything is served. */
function wantsServer(words: string[]): boolean {
  if (words.includes('--help')) return false
  try {
    parseArgs({ args: words, options: {}, strict: true })
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`)
  }
  return true
}

try {
  if (wantsServer(process.argv.slice(2))) await serve(readServerSettings(process.env))
  else print(help.trimEnd())
} catch (error) {
  const { message, code = '', address, hostname, port } = error as NodeJS.ErrnoException & Record<string, string>
  const reason = listenErrors[code]
  process.stderr.write(`${reason ? `${[address ?? hostname, port].join(' ').trim()} ${reason}.` : message}\n`)
  process.exitCode = 1
}
