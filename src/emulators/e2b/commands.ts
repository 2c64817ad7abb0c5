// envd's process service: starts a command and streams its output, ends it.
//
// It behaves as the real service:
//   - a client that disconnects ends no command, and output without a listener is lost;
//   - a deadline or a kill ends only the process itself, not its children;
//   - for listeners a command ends when every process has closed its output, or at once after a kill.
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { keepAliveOf, type MessageStream, openStream, Refusal, readEnvelope, readJson } from './connect-protocol.js'
import { startOf } from './processes.js'
import {
  type CommandConfiguration,
  type CommandEnd,
  type CommandRecord,
  type EnvdRequest,
  environmentOf,
  type LocalSandbox,
  type RunningCommand,
} from './sandbox.js'
import type { UserName } from './sandbox-directory.js'

const chunkBytes = 32 * 1024

export async function startCommand(asked: EnvdRequest): Promise<undefined> {
  const { sandbox, user, request } = asked
  const message = readEnvelope(request)
  if (message['pty']) throw new Refusal('unimplemented', 'the local cloud has no terminals')
  const configuration = readConfiguration(message['process'])
  const child = await launch(sandbox, user, configuration, message['stdin'] !== false)
  const id = child.pid as number
  sandbox.belonging.leaders.set(id, startOf(id))
  const command: RunningCommand = { child, listeners: new Set(), killed: false }
  sandbox.running.set(id, command)
  const record = keepRecord(sandbox, user, configuration, id)
  const stream = listen(command, asked)
  follow(command, record)
  endAtDeadline(command, stream, request)
  await stream.closed
}

/** `stdin` is open unless the client says that it will not use it. */
async function launch(sandbox: LocalSandbox, user: UserName, configuration: CommandConfiguration, stdin: boolean) {
  const cwd = sandbox.home.locate(configuration.cwd ?? '', user)
  if (cwd === undefined || !statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new Refusal('invalid_argument', `cwd '${configuration.cwd}' does not exist`)
  try {
    const child = spawn(configuration.cmd, configuration.args, {
      cwd,
      env: environmentOf(sandbox, user, configuration.envs),
      // A separate session distinguishes the command from the emulator, and Ctrl-C in the emulator's terminal does not reach it.
      detached: true,
      stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    })
    child.stdin?.on('error', () => undefined)
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    return child
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Refusal('invalid_argument', `error starting process '${configuration.cmd}': ${reason}`)
  }
}

function readConfiguration(value: unknown): CommandConfiguration {
  const { cmd, args = [], envs = {}, cwd } = (value ?? {}) as Partial<CommandConfiguration>
  if (typeof cmd !== 'string' || cmd === '') throw new Refusal('invalid_argument', 'no command was given')
  return { cmd, args, envs, ...(cwd ? { cwd } : {}) }
}

function keepRecord(sandbox: LocalSandbox, user: UserName, { cmd, args, envs, cwd }: CommandConfiguration, id: number) {
  const record: CommandRecord = {
    command: args[0] === '-l' && args[1] === '-c' ? (args[2] ?? '') : cmd,
    arguments: args,
    user,
    environment: environmentOf(sandbox, user, envs),
    workingDirectory: sandbox.home.locate(cwd ?? '', user) ?? '',
    processId: id,
    startedAt: new Date(),
  }
  sandbox.commands.push(record)
  return record
}

/** Opens a stream on a command; its first message is always that it started. */
function listen(command: RunningCommand, { sandbox, request, response }: EnvdRequest): MessageStream {
  const stream = openStream(response, keepAliveOf(request), { event: { keepalive: {} } })
  stream.send({ event: { start: { pid: command.child.pid } } })
  command.listeners.add(stream)
  sandbox.streams.add(stream)
  void stream.closed.then(() => {
    command.listeners.delete(stream)
    sandbox.streams.delete(stream)
  })
  return stream
}

function follow(command: RunningCommand, record: CommandRecord): void {
  const { child } = command
  for (const channel of ['stdout', 'stderr'] as const) {
    child[channel]?.on('data', (bytes: Buffer) => void passOn(command, channel, bytes))
    child[channel]?.on('error', () => undefined)
  }
  child.once('exit', () => {
    // A killed command ends without waiting for children that hold its output open.
    if (command.killed) for (const output of [child.stdout, child.stderr]) output?.destroy()
  })
  child.once('close', (code, signal) => {
    command.end = { event: describeEnd(code, signal) }
    Object.assign(record, { endedAt: new Date(), exitCode: command.end.event.exitCode })
    for (const stream of command.listeners) sayEnd(stream, command.end)
  })
}

/** A slow listener slows the command down, as a full pipe would. */
async function passOn(command: RunningCommand, channel: 'stdout' | 'stderr', bytes: Buffer): Promise<void> {
  const slow: Promise<void>[] = []
  for (let from = 0; from < bytes.length; from += chunkBytes) {
    const data = { [channel]: bytes.subarray(from, from + chunkBytes).toString('base64') }
    for (const stream of command.listeners) if (!stream.send({ event: { data } })) slow.push(stream.drained())
  }
  if (slow.length === 0) return
  command.child[channel]?.pause()
  await Promise.all(slow)
  command.child[channel]?.resume()
}

const signalWords: Partial<Record<NodeJS.Signals, string>> = {
  SIGKILL: 'killed',
  SIGTERM: 'terminated',
  SIGINT: 'interrupt',
  SIGHUP: 'hangup',
  SIGSEGV: 'segmentation fault',
  SIGABRT: 'aborted',
  SIGPIPE: 'broken pipe',
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null): CommandEnd['event'] {
  const status = signal ? `signal: ${signalWords[signal] ?? signal}` : `exit status ${code}`
  return { exitCode: code ?? -1, exited: signal === null, status, ...(code === 0 ? {} : { error: status }) }
}

function sayEnd(stream: MessageStream, end: CommandEnd): void {
  stream.send({ event: { end: end.event } })
  stream.end()
}

function endAtDeadline(command: RunningCommand, stream: MessageStream, request: RecordedRequest): void {
  const milliseconds = Number(request.headers['connect-timeout-ms'] ?? 0)
  if (!(milliseconds > 0)) return
  const clock = setTimeout(() => {
    stream.end(new Refusal('deadline_exceeded', 'context deadline exceeded'))
    kill(command, 'SIGKILL')
  }, milliseconds)
  clock.unref()
  command.child.once('close', () => clearTimeout(clock))
}

function kill(command: RunningCommand, signal: NodeJS.Signals): void {
  command.killed = true
  command.child.kill(signal)
}

const signals: Record<string, NodeJS.Signals> = { SIGNAL_SIGTERM: 'SIGTERM', SIGNAL_SIGKILL: 'SIGKILL' }

export function signalCommand({ sandbox, request }: EnvdRequest): Reply {
  const message = readJson(request)
  const signal = signals[String(message['signal'])]
  const command = select(sandbox, message)
  if (!signal) throw new Refusal('unimplemented', `invalid signal: ${String(message['signal'])}`)
  kill(command, signal)
  return json(200, {})
}

/** The running command that a request means. */
function select({ running }: LocalSandbox, message: Record<string, unknown>): RunningCommand {
  const { pid } = (message['process'] ?? {}) as { pid?: number }
  const command = running.get(pid ?? 0)
  if (command && !command.end) return command
  throw new Refusal('not_found', `process with pid ${pid} not found`)
}
