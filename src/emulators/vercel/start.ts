// Runs the functions as the platform does: each instance a process of its own, over real HTTP, with only the environment it is given.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type BuiltFunctions, buildFunctions } from './build.js'
import type { SaidDeadline } from './platform.js'
import type { LocalQueues } from './queues.js'

interface FunctionsOptions {
  root: string
  /** What the functions find in their environment; nothing else is there. */
  environment: Record<string, string>
  /** Serves the sources as they are, without building. */
  fromSources?: boolean
  built?: BuiltFunctions
  port?: number
  /** Instead of each function's own limit. */
  maxDuration?: number
  /** What the context of each request says of its deadline, where that is not the function's own limit. */
  deadline?: SaidDeadline
  /** A folder for what Node compiled, so that another instance need not; without one each starts as cold as a new machine. */
  compileCache?: string
  /** Where jobs wait; without it the functions run as they do elsewhere than on Vercel. */
  queues?: LocalQueues
  /** Takes what the functions print. */
  onOutput?: (text: string) => void
}

export interface RunningFunctions extends AsyncDisposable {
  url: string
  /** Lines of the log, in order. */
  lines: string[]
  /** Work in the background, and memory in bytes. */
  state(): Promise<{ pending: number; memory: number }>
  /** Bytes and requests that are held once what is dead was collected, and open descriptors. Requests are counted where there are queues. */
  held(): Promise<{ held: number; requests: number; descriptors: number }>
  /** Timers for more than a minute that were set since this was first asked, and neither rang nor were cleared. */
  timers(): Promise<number>
  /** Ends it at once, as a platform may. */
  kill(): void
  close(): Promise<void>
}

/** The configuration of an instance process. */
export interface Instance {
  root: string
  port: number
  /** The folder of the built functions; without it the sources are served. */
  built?: string
  maxDuration?: number
  deadline?: SaidDeadline
}

/** Tells an instance the keys of its queues. */
export const queuesVariable = 'LOCAL_VERCEL_QUEUES'

const programFile = fileURLToPath(new URL('instance.ts', import.meta.url))
const loader = new URL('../../build/ts-loader.mjs', import.meta.url).href

export async function startFunctions(options: FunctionsOptions): Promise<RunningFunctions> {
  const built = options.fromSources ? undefined : (options.built ?? (await buildFunctions(options.root)))
  const { root, port = 0, maxDuration, deadline, compileCache, queues } = options
  const instance: Instance = {
    root,
    port,
    ...(built === undefined ? {} : { built: built.directory }),
    ...(maxDuration === undefined ? {} : { maxDuration }),
    ...(deadline === undefined ? {} : { deadline }),
  }
  const child = fork(programFile, [JSON.stringify(instance)], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NO_COLOR: '1',
      ...(compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache }),
      ...(queues === undefined ? {} : { ...queues.settings, [queuesVariable]: keysOf(queues) }),
      ...options.environment,
    },
    execArgv: ['--disable-warning=ExperimentalWarning', '--import', loader],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const lines: string[] = []
  const take = (text: string) => {
    lines.push(...text.split('\n').filter((line) => line !== ''))
    options.onOutput?.(text)
  }
  child.stdout?.setEncoding('utf8').on('data', take)
  child.stderr?.setEncoding('utf8').on('data', take)
  const { url } = await reply<{ url: string }>(child, lines)
  const endDeliveries = queues?.deliverTo(url)
  const close = async () => {
    endDeliveries?.()
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.disconnect()
    await gone
  }
  return {
    url,
    lines,
    state() {
      child.send('state?')
      return reply(child, lines)
    },
    held() {
      child.send('held?')
      return reply(child, lines)
    },
    async timers() {
      child.send('timers?')
      return (await reply<{ timers: number }>(child, lines)).timers
    },
    kill() {
      endDeliveries?.()
      child.kill('SIGKILL')
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const keysOf = ({ token, deliveryKey }: LocalQueues) => JSON.stringify({ token, deliveryKey })

function reply<T>(child: ChildProcess, lines: string[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error(`The functions ended:\n${lines.join('\n')}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message as T)
    })
  })
}
