// `npm start`: the page and the functions as a server of one's own. Built to dist/service/server.js, beside the functions that it loads.
//
// Besides serving it is the clock that the platform would be, and it stops in order: what runs gets its time, and every sandbox its end.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { functionNames, readPlatformSettings, settingsOf } from './platform-settings.js'
import { type RunningServer, type ServedFunction, startServer } from './server.js'
import { readServerSettings, type ServerSettings } from './server-settings.js'

const root = join(import.meta.dirname, '../..')
/** A promise that was left behind waits no longer than this. */
const clockMs = 15 * 60_000

/** Of a signal from a terminal npm passes on another one, at once. */
const sameSignalMs = 1_000

const say = (text: string) => process.stdout.write(`${text}\n`)

async function start({ host, port }: ServerSettings): Promise<RunningServer> {
  const [settings, names] = await Promise.all([readPlatformSettings(root), functionNames(root)])
  const load = async (name: string) => {
    if (!names.includes(name)) return undefined
    const file = new URL(`./${name.slice('api/'.length)}.js`, import.meta.url)
    return ((await import(file.href)) as { default: ServedFunction }).default
  }
  return startServer({
    settings,
    staticFolder: join(root, settings.outputDirectory),
    load,
    settingsOf: (name) => settingsOf(settings, name),
    host,
    port,
  })
}

/** Takes up what was promised and left behind: now, and again and again. */
function startClock(url: string, secret: string): NodeJS.Timeout {
  // What goes wrong there stands in the function's own line of the log.
  const tick = () => void fetch(`${url}/api/cron`, { headers: { authorization: `Bearer ${secret}` } }).catch(() => {})
  tick()
  return setInterval(tick, clockMs)
}

async function sayHealth(url: string): Promise<void> {
  const response = await fetch(`${url}/api/health`)
  const { missing, wanted } = (await response.json()) as { missing: string[]; wanted: Record<string, string> }
  if (missing.length > 0) say(`Questions are refused until these are set: ${missing.join(', ')}.`)
  for (const [name, form] of Object.entries(wanted)) say(`${name} cannot be read: it has to be ${form}.`)
}

async function serve(settings: ServerSettings): Promise<void> {
  // Without one only this process calls its clock.
  process.env['CRON_SECRET'] ||= randomBytes(24).toString('hex')
  const server = await start(settings)
  say(`handoff listens at ${settings.host}, port ${new URL(server.url).port}: ${server.url}`)
  const clock = startClock(server.url, process.env['CRON_SECRET'])
  let toldAt: number | undefined
  const stop = async (why: string, code: number) => {
    if (toldAt !== undefined) {
      if (Date.now() - toldAt > sameSignalMs) process.exit(1)
      return
    }
    toldAt = Date.now()
    clearInterval(clock)
    say(`${why}: what runs has ${settings.stopSeconds} s to end.`)
    const inTime = await server.stop(settings.stopSeconds * 1_000)
    say(inTime ? 'Stopped.' : 'Stopped, before all that ran had ended.')
    process.exit(inTime ? code : 1)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal, 0))
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    void stop('After an error that nothing caught', 1)
  })
  await sayHealth(server.url)
}

/** What the system says of an address that cannot be listened at. */
const unusable: Record<string, string> = {
  EADDRINUSE: 'is taken; set PORT to another one',
  EACCES: 'may not be used by this user; set PORT to one above 1023',
  EADDRNOTAVAIL: 'is not of this machine; set HOST to an address that is, or to 0.0.0.0 for all of them',
  ENOTFOUND: 'is not known; set HOST to an address of this machine, or to 0.0.0.0 for all of them',
}

try {
  await serve(readServerSettings(process.env))
} catch (error) {
  const { message, code = '', address, hostname, port } = error as NodeJS.ErrnoException & Record<string, string>
  const reason = unusable[code]
  process.stderr.write(`${reason ? `${[address ?? hostname, port].join(' ').trim()} ${reason}.` : message}\n`)
  process.exitCode = 1
}
