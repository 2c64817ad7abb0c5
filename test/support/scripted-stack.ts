// A stack in which a workflow takes a tenth of a second: emulators, one repository, and test processes that reach them through a fault proxy.
// The real sandbox program runs once and is recorded; a tiny program then repeats its output. Deadlines and waits are short.
import { execFileSync } from 'node:child_process'
import { type LocalServer, type Reply, startServer } from '../../src/emulators/faulty-server.js'
import { type GitRemote, startGitRemote } from '../../src/emulators/git-http-server.js'
import { type Clouds, programFolder, startClouds } from '../../src/emulators/start-all.js'
import { type Commit, layout, parseRepository } from '../../src/handoff/domain/run.js'
import type { RunEvent } from '../../src/handoff/domain/run-events.js'
import { type CloudName, startFaultProxy } from './fault-proxy.js'
import { realProgram, recordSummary } from './record-program.js'
import { type Files, makeRepository, type TestRepository } from './repository.js'
import type { PlannedProcess, Scenario, TestProcess } from './scenario.js'
import { connectThrough, type Wiring } from './scripted-context.js'
import { ampleWaitMs, type ScriptedProgram, startScriptedProgram } from './scripted-program.js'
import { leaksOf } from './secrets.js'

export interface ScriptedStack extends AsyncDisposable {
  clouds: Required<Clouds>
  remote: GitRemote
  repository: TestRepository
  sandboxProgram: ScriptedProgram
  /** The addresses of the emulators behind the proxy. */
  targets: Record<CloudName, string>
  /** The events of all processes. */
  events: RunEvent[]
  /** A repository of its own for one scenario, with the same commit in it. */
  scenario(name: string): Scenario
  /** A process whose way out is a proxy. With `real` its sandboxes run the real program. */
  process(plan?: PlannedProcess): Promise<TestProcess>
  /** Drops old records of the emulators, so that thousands of scenarios fit into memory. */
  forget(): void
  close(): Promise<void>
}

export interface ScriptedStackOptions {
  files?: Files
  /** The clone's size in bytes; below 50,000 it is stored and read in one piece. */
  cloneBytes?: number
}

export const smallRepository = {
  'README.md': '# Tools\n\nTools that greet people.\n',
  'package.json': '{ "name": "tools", "scripts": { "test": "node --test" } }\n',
  'src/greet.ts': 'export function greet(name: string): string {\n  return `Hello, ${name}`\n}\n',
}
/** With enough files, their tables are stored by upload. */
export const manyFiles = (count: number): Files =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `src/part-${index}/module-${index}.ts`,
      `export const value${index} = ${index}\n`,
    ]),
  )
/** Every kind of file. */
export const withLink: Files = { ...smallRepository, 'docs/tools.md': { symlink: '../README.md' } }
/** Some faults end with a deadline only. Without one of them deadlines are ample, so that a busy machine meets none. */
const hasEndlessFault = ({ faults = [], breaking }: PlannedProcess) =>
  breaking !== undefined ||
  faults.some(({ fault }) => ['hangs', 'is late', 'dies before', 'dies after'].includes(fault))
/** The emulated drive9 program waits as often as the real one, for a much shorter time. */
const shortDriveWaits = { E2B_DRIVE9_LOCAL_TIME_SCALE: '0.02' }

export async function startScriptedStack(options: ScriptedStackOptions = {}): Promise<ScriptedStack> {
  const [repository, sandboxProgram] = await Promise.all([
    makeRepository(options.files ?? smallRepository),
    startScriptedProgram(),
  ])
  // The host's ref of a pull request.
  execFileSync('git', ['-C', repository.directory, 'update-ref', 'refs/pull/7/head', repository.head])
  const sandboxes = { environment: shortDriveWaits, path: [sandboxProgram.folder, programFolder] }
  const [clouds, remote] = await Promise.all([
    startClouds({ sandboxes }) as Promise<Required<Clouds>>,
    startGitRemote(),
  ])
  const echo = await startEcho(remote)
  const events: RunEvent[] = []
  const targets = {
    sandboxes: clouds.sandboxes.url,
    drive: clouds.drive.url,
    model: clouds.model.url,
    git: echo.url,
    inside: clouds.drive.url,
  }
  const wiring: Wiring = { clouds, events }
  const canned = await recordSummary(
    wiring,
    remote,
    repository,
    options.cloneBytes ?? 0,
    placeOf('octo/model', repository.head),
  )
  sandboxProgram.can(() => canned)

  const close = async () => {
    const leaks = leaksOf(clouds, events, [])
    await Promise.all([clouds.close(), remote.close(), echo.close(), repository[Symbol.asyncDispose]()])
    await sandboxProgram[Symbol.asyncDispose]()
    if (leaks.length > 0) throw new Error(`secrets out of place:\n${leaks.slice(0, 10).join('\n')}`)
  }
  return {
    clouds,
    remote,
    repository,
    sandboxProgram,
    targets,
    events,
    scenario(name) {
      remote.serve(name, repository.directory)
      return placeOf(name, repository.head)
    },
    async process(plan = {}) {
      const proxy = await startFaultProxy({ targets, ...plan })
      const clock = { offset: 0 }
      const isShort = !plan.patient && hasEndlessFault(plan)
      const context = connectThrough(
        wiring,
        proxy.url,
        plan.real ? realProgram : sandboxProgram.program(isShort ? 800 : ampleWaitMs),
        plan.patient ? 'production' : isShort ? 'short' : 'ample',
        clock,
      )
      return {
        context,
        proxy,
        advance: (milliseconds) => {
          clock.offset += milliseconds
        },
        close: proxy.close,
        [Symbol.asyncDispose]: proxy.close,
      }
    },
    forget() {
      const { sandboxes, drive, model } = clouds
      for (const list of [sandboxes.requests, drive.requests, model.requests, model.prompts, events])
        if (list.length > 1_000) list.splice(0, list.length - 500)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Says again what the real git host said to the same question; each time costs that one two processes. */
function startEcho(remote: GitRemote): Promise<LocalServer> {
  const said = new Map<string, Promise<Reply>>()
  return startServer('git echo', ({ method, path, headers, body }) => {
    const question = `${method} ${path.replace(/^\/octo\/[^/]+\.git/, '')} ${body.toString('latin1')}`
    const known = said.get(question)
    if (known) return known
    const { host: _host, connection: _connection, 'content-length': _length, ...passed } = headers
    const asked = fetch(`${remote.url}${path}`, { method, headers: passed, ...(method === 'POST' ? { body } : {}) })
    const reply = asked.then(async (answer): Promise<Reply> => {
      const type = answer.headers.get('content-type') ?? ''
      return {
        status: answer.status,
        headers: { 'content-type': type },
        body: new Uint8Array(await answer.arrayBuffer()),
      }
    })
    said.set(question, reply)
    return reply
  })
}

function placeOf(name: string, sha: string): Scenario {
  const repository = parseRepository(name, 'git.example.org')
  const urlOf = ({ proxy }: TestProcess) => `${proxy.url.git}/${name}.git`
  const commit = (process: TestProcess): Commit => ({
    repository,
    sha,
    cloneUrl: urlOf(process),
  })
  const labels = { scenario: name }
  return {
    name,
    layout: layout('/handoff', repository),
    summarise: (process, attempt, { ref = 'refs/heads/main', ...more } = {}) => ({
      commit: { ...commit(process), ref },
      attempt,
      labels,
      ...more,
    }),
    ask: (process, text, more = {}) => ({
      repository,
      cloneUrl: urlOf(process),
      name: { commit: sha },
      question: { text, asker: 'test' },
      labels,
      ...more,
    }),
  }
}
