// A world in which a walk takes a tenth of a second, and a house for each process in it, wired as `connect` does but with short waits.
//
// The clouds are the local ones. What the program in a sandbox does is taken down once from the real program and repeated by a tiny one.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../../src/handoff/bench/run-directory.js'
import { uniqueId } from '../../src/handoff/bench/unique.js'
import type { AskRequest } from '../../src/handoff/hall/ask.js'
import type { House } from '../../src/handoff/hall/house.js'
import { type SummariseRequest, summarise } from '../../src/handoff/hall/summarise.js'
import type { RunEvent } from '../../src/handoff/library/events.js'
import { recordReader } from '../../src/handoff/library/record-decoder.js'
import type { GuestRecord } from '../../src/handoff/library/records.js'
import { type Commit, type Layout, layout, parseRepository } from '../../src/handoff/library/run.js'
import { makeRedactor } from '../../src/handoff/library/secrets/redact.js'
import type { Sandboxes } from '../../src/handoff/library/tools.js'
import { makeDrive } from '../../src/handoff/lines/drive9.js'
import { makeSandboxes } from '../../src/handoff/lines/e2b.js'
import { makeGitHost } from '../../src/handoff/lines/git.js'
import { guardModel } from '../../src/handoff/lines/guarded-model.js'
import { makeModel } from '../../src/handoff/lines/openai.js'
import { makeCounting } from '../../src/handoff/lines/tokens.js'
import { type Clouds, programFolder, startClouds } from '../../src/local/clouds.js'
import { type GitRemote, startGitRemote } from '../../src/local/git-remote.js'
import { type LocalServer, type Reply, startServer } from '../../src/local/server.js'
import { manualClock } from './clock.js'
import { type CloudName, type FaultName, type Gate, type Passage, type PlannedFault, startGate } from './gate.js'
import { type Canned, type QuickGuest, startQuickGuest } from './quick-guest.js'
import { type Files, makeRepository, type TestRepository } from './repository.js'
import { keysOf, leaksOf } from './secrets.js'

export interface QuickWorld extends AsyncDisposable {
  clouds: Required<Clouds>
  remote: GitRemote
  repository: TestRepository
  guest: QuickGuest
  /** Where each cloud really is. */
  targets: Record<CloudName, string>
  /** Everything that any process said. */
  events: RunEvent[]
  /** A repository of its own for one scenario, with the same commit in it. */
  place(name: string): Place
  /** A process whose way out is a gate. With `real` its sandboxes run the real program. */
  process(plan?: PlannedProcess): Promise<QuickProcess>
  /** Drops what the clouds remember of long ago, so that thousands of scenarios fit into memory. */
  forget(): void
  close(): Promise<void>
}

export interface PlannedProcess {
  faults?: PlannedFault[]
  /** How to break a call that no fault was planned for. */
  breaking?: (call: Passage) => FaultName | undefined
  watch?: () => void
  patient?: boolean
  real?: boolean
}

export interface Place {
  /** The name of its repository; written on every sandbox of the scenario. */
  name: string
  layout: Layout
  summarise(process: QuickProcess, attempt: string, more?: Partial<SummariseRequest>): SummariseRequest
  ask(process: QuickProcess, question: string, more?: Partial<AskRequest>): AskRequest
}

export interface QuickProcess extends AsyncDisposable {
  close(): Promise<void>
  house: House
  gate: Gate
  /** Moves this process's idea of now, for leases. */
  later(milliseconds: number): void
}

export interface QuickWorldOptions {
  files?: Files
  /** The clone's size in bytes; below 50,000 it is stored and read in one piece. */
  cloneBytes?: number
}

const smallRepository: Files = {
  'README.md': '# Tools\n\nTools that greet people.\n',
  'package.json': '{ "name": "tools", "scripts": { "test": "node --test" } }\n',
  'src/greet.ts': 'export function greet(name: string): string {\n  return `Hello, ${name}`\n}\n',
}
/** The drive9 program waits as often as it would, and much shorter. */
const hastyDrive = { E2B_DRIVE9_LOCAL_TIME_SCALE: '0.02' }
const never = new AbortController().signal
/** One for all houses: to load the vocabulary takes longer than a walk here. */
const counting = makeCounting('offline-extractive')
const realProgram = (walk: string) => readFile(join(import.meta.dirname, `../../dist/guest-${walk}.js`), 'utf8')

export async function startQuickWorld(options: QuickWorldOptions = {}): Promise<QuickWorld> {
  const [repository, guest] = await Promise.all([makeRepository(options.files ?? smallRepository), startQuickGuest()])
  const sandboxes = { environment: hastyDrive, path: [guest.folder, programFolder] }
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
  const canned = await takeDown(wiring, remote, repository, options.cloneBytes ?? 0)
  guest.can(() => canned)

  const close = async () => {
    const leaks = leaksOf(clouds, events, [])
    await Promise.all([clouds.close(), remote.close(), echo.close(), repository[Symbol.asyncDispose]()])
    await guest[Symbol.asyncDispose]()
    if (leaks.length > 0) throw new Error(`secrets out of place:\n${leaks.slice(0, 10).join('\n')}`)
  }
  return {
    clouds,
    remote,
    repository,
    guest,
    targets,
    events,
    place(name) {
      remote.serve(name, repository.directory)
      return placeOf(name, repository.head)
    },
    async process(plan = {}) {
      const gate = await startGate({ targets, ...plan })
      const clock = { offset: 0 }
      const house = houseAt(
        wiring,
        gate.url,
        plan.real ? realProgram : plan.patient ? guest.patient : guest.program,
        plan.patient === true,
        clock,
      )
      return {
        house,
        gate,
        later: (milliseconds) => {
          clock.offset += milliseconds
        },
        close: gate.close,
        [Symbol.asyncDispose]: gate.close,
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

function placeOf(name: string, sha: string): Place {
  const repository = parseRepository(name, 'git.example.org')
  const urlOf = ({ gate }: QuickProcess) => `${gate.url.git}/${name}.git`
  const commit = (process: QuickProcess): Commit => ({
    repository,
    sha,
    ref: 'refs/heads/main',
    cloneUrl: urlOf(process),
  })
  const labels = { scenario: name }
  return {
    name,
    layout: layout('/handoff', repository),
    summarise: (process, attempt, more = {}) => ({ commit: commit(process), attempt, labels, ...more }),
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

interface Wiring {
  clouds: Required<Clouds>
  events: RunEvent[]
}

const hasty = {
  drive: { answerMs: 500, silenceMs: 500, pauseMs: 1, tries: 3, settingUpMs: 2_500 },
  requestTimeoutMs: 600,
  firstTextMs: 500,
  betweenTextMs: 500,
}

/** `connect`, with its waits. */
function houseAt(
  { clouds, events }: Wiring,
  url: Record<CloudName, string>,
  program: House['program'],
  patient: boolean,
  time: { offset: number },
): House {
  const clock = manualClock({ start: Date.now(), jump: true })
  const drive = makeDrive({
    server: url.drive,
    key: clouds.drive.ownerKey,
    ...(patient ? {} : { times: hasty.drive, clock }),
  })
  const emit = (event: RunEvent) => void events.push(event)
  return {
    tools: {
      sandboxes: makeSandboxes({
        apiKey: clouds.sandboxes.settings.E2B_API_KEY,
        template: 'handoff',
        apiUrl: url.sandboxes,
        sandboxUrl: url.sandboxes,
        onNotice: (text) => emit({ type: 'notice', text }),
        ...(patient ? {} : { requestTimeoutMs: hasty.requestTimeoutMs }),
      }),
      // A sandbox outlives the process that opened it, so it has a way of its own.
      drive: { ...drive, server: url.inside },
      model: guardModel(
        makeModel({
          apiKey: clouds.model.key,
          baseUrl: `${url.model}/v1`,
          name: clouds.model.name,
          contextTokens: 128_000,
          counting,
          ...(patient ? {} : { firstTextMs: hasty.firstTextMs, betweenTextMs: hasty.betweenTextMs, clock }),
        }),
        Object.values(keysOf(clouds)),
      ),
      git: makeGitHost(patient ? {} : { requestMs: 500, clock }),
      now: () => new Date(Date.now() + time.offset),
      uniqueId,
      emit,
    },
    program,
    redact: makeRedactor(Object.values(keysOf(clouds))),
    root: '/handoff',
    limits: { inputTokens: 400_000, deadlineMs: 60_000 },
  }
}

/** One summary by the real program, everything it stored and printed; and what one would find in that repository. */
async function takeDown(
  wiring: Wiring,
  remote: GitRemote,
  repository: TestRepository,
  cloneBytes: number,
): Promise<Canned> {
  const { clouds } = wiring
  remote.serve('octo/model', repository.directory)
  const url = { sandboxes: clouds.sandboxes.url, drive: clouds.drive.url, inside: clouds.drive.url }
  const house = houseAt(wiring, { ...url, model: clouds.model.url, git: remote.url }, realProgram, true, { offset: 0 })
  const heard: GuestRecord[] = []
  house.tools.sandboxes = listening(house.tools.sandboxes, (record) => heard.push(record))
  const at = { house, gate: { url: { git: remote.url } } } as QuickProcess
  const place = placeOf('octo/model', repository.head)
  const { directory } = await summarise(place.summarise(at, 'taken-down'), house, never)
  const stored = heard.filter((record) => record.type === 'stored')
  const files = stored.map(({ path }) => {
    const bytes = clouds.drive.readFile(`${directory}/${path}`)!
    return {
      path,
      bytes: path.startsWith('project/') ? Buffer.concat([bytes, padding(cloneBytes - bytes.length)]) : bytes,
    }
  })
  clouds.drive.remove(place.layout.repository)
  return { files, summarise: heard.map((record) => restated(record, files)), find: foundIn(heard) }
}

/** The first lines of each file that was read. */
function foundIn(records: GuestRecord[]): GuestRecord[] {
  const texts = records.filter((record) => record.type === 'text').slice(0, 5)
  const excerpts = texts.map(({ path, blob, text }): GuestRecord => {
    return {
      v: 1,
      type: 'excerpt',
      path,
      blob,
      from: 1,
      lines: text.trimEnd().split('\n').slice(0, 20),
      source: 'code',
      score: 1,
    }
  })
  return [
    { v: 1, type: 'step', step: 'mount', milliseconds: 1 },
    ...excerpts,
    { v: 1, type: 'searched', terms: ['greet'], files: texts.length, candidates: texts.length },
    { v: 1, type: 'done' },
  ]
}

const padding = (bytes: number) => Buffer.alloc(Math.max(0, bytes))

/** What was stored has another hash where it was made larger. */
function restated(record: GuestRecord, files: { path: string; bytes: Uint8Array }[]): GuestRecord {
  if (record.type !== 'stored') return record
  const { bytes } = files.find(({ path }) => path === record.path)!
  return { ...record, bytes: bytes.length, sha256: sha256(bytes) }
}

/** Listens to what is printed inside. */
function listening(sandboxes: Sandboxes, take: (record: GuestRecord) => void): Sandboxes {
  return {
    ...sandboxes,
    async open(request, signal) {
      const sandbox = await sandboxes.open(request, signal)
      const reader = recordReader(take)
      return {
        ...sandbox,
        run: (command, options) =>
          sandbox.run(command, {
            ...options,
            onOutput(text) {
              reader.push(text)
              options.onOutput(text)
            },
          }),
      }
    },
  }
}
