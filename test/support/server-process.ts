// `npm start` as a process: the server, with only the environment it is given, and what Node compiled before.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { secretWatch } from './recorded-requests.js'
import { compileCache } from './run-program.js'
import { until } from './until.js'

const root = join(import.meta.dirname, '../..')
const program = ['--import', join(root, 'src/build/ts-loader.mjs'), join(root, 'src/service/server/main.ts')]

export interface ServerProcess extends AsyncDisposable {
  url: string
  pid: number
  /** All that it printed. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** To all that the command started, as a terminal does it. */
  signalAll(name: NodeJS.Signals): void
  /** How it ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

/** Nothing is found by where it was started. */
const alone = { command: [process.execPath, ...program], cwd: '/' }
/** With so many descriptors, as a platform limits them. */
export const withDescriptors = (most: number) => ({
  command: ['sh', '-c', `ulimit -n ${most}; exec "$0" "$@"`, process.execPath, ...program],
  cwd: '/',
})
export const byNpm = { command: ['npm', 'start'], cwd: root }

export async function startServerProcess(
  environment: Record<string, string>,
  { command: [file = '', ...rest], cwd } = alone,
): Promise<ServerProcess> {
  const child = spawn(file, rest, {
    env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: compileCache, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
    // Its own group, as a terminal gives it.
    detached: true,
  })
  let output = ''
  const hear = (text: string) => {
    output += text
    secretWatch.addText('the log of the server', text)
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const over = () => child.exitCode !== null || child.signalCode !== null
  await until('the server listens', () => over() || /^handoff listens/m.test(output))
  return {
    url: /(http:\/\/\S+)$/m.exec(output)?.[1] ?? '',
    pid: child.pid!,
    output: () => output,
    signal: (name) => void child.kill(name),
    signalAll: (name) => void process.kill(-child.pid!, name),
    ended,
    async [Symbol.asyncDispose]() {
      if (!over()) process.kill(-child.pid!, 'SIGKILL')
      await ended
    },
  }
}
