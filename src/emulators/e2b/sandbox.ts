// One machine of the cloud: its directory, its environment, its clock, and its end. What runs in it is in commands.ts.
import type { ChildProcess } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { freshId, type RecordedRequest } from '../faulty-server.js'
import type { MessageStream } from './connect-protocol.js'
import { type Belonging, endProcesses, markerName, markerOf } from './processes.js'
import { clearDirectory, type Home, makeHome, type UserName } from './sandbox-directory.js'

/** What tests and the demo may look at, also when the machine is long gone. */
export interface SandboxRecord {
  readonly id: string
  /** As the request named it. */
  readonly template: string
  readonly metadata: Readonly<Record<string, string>>
  readonly directory: string
  readonly state: 'running' | 'gone'
  readonly createdAt: Date
  readonly endsAt: Date
  /** When nothing of it was left. */
  readonly killedAt?: Date
  readonly end?: SandboxEnd
  /** Every set of network rules it had, the one in force last. The cloud keeps them; it does not enforce them. */
  readonly networks: readonly NetworkRules[]
  readonly commands: readonly CommandRecord[]
}

/** `lost`: its node is gone, and connections to it say nothing any more. */
type SandboxEnd = 'killed' | 'deadline' | 'closed' | 'lost'

/** What an event says of each end. An emulator that closes sends none. */
const killReasons = { killed: 'request', deadline: 'timeout', lost: 'orphaned', closed: undefined } as const
export type KillReason = Exclude<(typeof killReasons)[SandboxEnd], undefined>

export interface CommandRecord {
  /** What was to run: the text for the shell, when it was one. */
  readonly command: string
  readonly arguments: readonly string[]
  readonly user: UserName
  /** All of it. */
  readonly environment: Readonly<Record<string, string>>
  readonly workingDirectory: string
  readonly processId: number
  readonly startedAt: Date
  readonly endedAt?: Date
  /** Minus one for a signal. */
  readonly exitCode?: number
}

export interface CommandConfiguration {
  cmd: string
  args: string[]
  envs: Record<string, string>
  cwd?: string
}

export interface RunningCommand {
  child: ChildProcess
  listeners: Set<MessageStream>
  /** By a client or by its deadline. */
  killed: boolean
  end?: CommandEnd
}

export interface CommandEnd {
  event: { exitCode: number; exited: boolean; status: string; error?: string }
}

export interface NetworkRules {
  allowOut?: string[]
  denyOut?: string[]
  rules?: Record<string, { transform?: { headers?: Record<string, string> } }[]>
  allow_internet_access?: boolean
}

interface SandboxSpecification {
  id: string
  template: string
  directory: string
  searchPath: string
  metadata: Record<string, string>
  environment: Record<string, string>
  network: NetworkRules | undefined
  ended: (reason: KillReason) => void
}

export interface LocalSandbox extends SandboxRecord {
  state: SandboxRecord['state']
  endsAt: Date
  killedAt?: Date
  end?: SandboxEnd
  networks: NetworkRules[]
  commands: CommandRecord[]
  readonly specification: SandboxSpecification
  readonly home: Home
  readonly accessToken: string
  readonly belonging: Belonging & { leaders: Map<number, string> }
  /** By process id. */
  readonly running: Map<number, RunningCommand>
  /** What is open to clients and breaks when the machine goes. */
  readonly streams: Set<MessageStream>
  clock?: NodeJS.Timeout
  ending?: Promise<void>
}

/** The input of envd's services: a request to a running sandbox. */
export interface EnvdRequest {
  sandbox: LocalSandbox
  user: UserName
  request: RecordedRequest
  response: ServerResponse
}

export function openSandbox(specification: SandboxSpecification, seconds: number): LocalSandbox {
  const { id, directory, template, metadata, network, searchPath } = specification
  const sandbox: LocalSandbox = {
    id,
    template,
    metadata,
    directory,
    state: 'running',
    createdAt: new Date(),
    endsAt: new Date(),
    networks: network ? [network] : [],
    commands: [],
    specification,
    home: makeHome(directory, searchPath),
    accessToken: freshId(),
    belonging: { marker: markerOf(id), directory, leaders: new Map() },
    running: new Map(),
    streams: new Set(),
  }
  setDeadline(sandbox, seconds)
  return sandbox
}

/** What a command of this user starts with. Nothing of the cloud's own environment is in it. */
export function environmentOf({ id, template, home, specification }: LocalSandbox, user: UserName, more: object) {
  return {
    PATH: specification.searchPath,
    HOME: home.of(user),
    USER: user,
    LOGNAME: user,
    TMPDIR: home.temporary,
    E2B_SANDBOX: 'true',
    E2B_TEMPLATE_ID: template,
    ...specification.environment,
    ...more,
    // Last, because it is also how the processes are found again.
    [markerName]: id,
  }
}

/** The deadline, from now. */
export function setDeadline(sandbox: LocalSandbox, seconds: number): void {
  clearTimeout(sandbox.clock)
  sandbox.endsAt = new Date(Date.now() + seconds * 1000)
  sandbox.clock = setTimeout(() => {
    // If a process survives, `close` of the emulator and the clean-up guard try again.
    endSandbox(sandbox, 'deadline').catch(() => undefined)
  }, seconds * 1000)
  sandbox.clock.unref()
}

/** Resolves when no process and no directory of it is left. Idempotent. */
export function endSandbox(sandbox: LocalSandbox, how: SandboxEnd): Promise<void> {
  sandbox.ending ??= finish(sandbox, how).catch((error: unknown) => {
    delete sandbox.ending
    throw error
  })
  return sandbox.ending
}

async function finish(sandbox: LocalSandbox, how: SandboxEnd): Promise<void> {
  clearTimeout(sandbox.clock)
  // From here on it answers as one that is gone, before its streams break: the SDK asks at once why they did.
  sandbox.state = 'gone'
  sandbox.end ??= how
  const reason = killReasons[how]
  if (reason) sandbox.specification.ended(reason)
  if (how === 'lost') silence(sandbox)
  else dropStreams(sandbox)
  await endProcesses(sandbox.belonging)
  await clearDirectory(sandbox.directory)
  sandbox.killedAt = new Date()
}

function dropStreams(sandbox: LocalSandbox): void {
  for (const stream of sandbox.streams) stream.drop()
  sandbox.streams.clear()
}

/** The streams stay open and carry nothing. */
function silence({ running }: LocalSandbox): void {
  for (const command of running.values()) command.listeners.clear()
}
