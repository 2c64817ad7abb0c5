// A runner for tests: starts the built dist in a child process as GitHub's runner does, from a folder without packages, with the runner's
// environment and files, and reads what came out of it by the runner's own rules.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { parse } from 'yaml'
import { type GitRemote, startGitRemote } from '../../src/emulators/git-http-server.js'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import type { Repository } from '../../src/emulators/github/state.js'
import type { Clouds, CloudsOptions } from '../../src/emulators/start-all.js'
import { startClouds } from '../../src/emulators/start-all.js'
import { secretWatch } from '../support/recorded-requests.js'
import { type RepeatedProgramsOptions, startRepeatedPrograms } from '../support/repeated-programs.js'
import { type Files, makeRepository, type TestRepository } from '../support/repository.js'
import { leaksOf } from '../support/secrets.js'
import { type ReadLog, readLog, readPairs, refusedFiles } from './runner-rules.js'

export const root = join(import.meta.dirname, '../..')
export const node = join(root, 'node_modules/.bin/node')

interface Description {
  inputs: Record<string, { default?: string; description: string }>
  outputs: Record<string, { description: string }>
  runs: { using: string; main: string; post: string }
}

export async function readDescription(): Promise<Description> {
  return parse(await readFile(join(root, 'action.yml'), 'utf8')) as Description
}

export interface Event {
  name: string
  payload: object
  sha?: string
  ref?: string
}

export interface StepOptions {
  event: Event
  inputs?: Record<string, string>
  environment?: Record<string, string>
  /** Inputs that the workflow does not have, keys too. */
  without?: string[]
  /** Interrupts the step when a line of its log holds this. */
  interruptAt?: string | RegExp
  /** Interrupts it when this is true. */
  interruptWhen?: () => boolean
  /** SIGINT when absent; SIGKILL is a runner that lost patience. */
  signal?: NodeJS.Signals
  runId?: string
}

export interface Step extends ReadLog {
  code: number | null
  signal: NodeJS.Signals | null
  raw: string
  outputs: Record<string, string>
  state: Record<string, string>
  summary: string
  options: StepOptions
}

export interface ActionStack extends AsyncDisposable {
  clouds: Required<Clouds>
  github: LocalGitHub
  remote: GitRemote
  repository: TestRepository
  /** As the local GitHub knows it. */
  onGitHub: Repository
  token: string
  folder: string
  step(options: StepOptions): Promise<Step>
  /** The step after the job, with what the main step saved. */
  post(main: Step, environment?: Record<string, string>): Promise<Step>
  push(more?: Partial<{ sha: string; ref: string; before: string }>): Event
  pull(number: number, sha: string, more?: object): Event
  close(): Promise<void>
}

export interface ActionStackOptions {
  files: Files | Files[]
  private?: boolean
  clouds?: CloudsOptions
  refs?: Record<string, number>
  permissions?: Record<string, 'read' | 'write'>
  basePath?: string
  /** A task that a sandbox program did before is repeated from its recording: for tests whose subject is not the program. */
  repeated?: RepeatedProgramsOptions
}

const shipped = inject('shippedAction')
const everything = { contents: 'read', pull_requests: 'write', issues: 'write', discussions: 'write' } as const

export async function startActionStack(options: ActionStackOptions): Promise<ActionStack> {
  const programs = options.repeated && (await startRepeatedPrograms(options.repeated))
  const sandboxes = { ...options.clouds?.sandboxes, ...(programs ? { path: [programs.folder] } : {}) }
  const [clouds, github, repository, folder, description] = await Promise.all([
    startClouds({ ...options.clouds, sandboxes }) as Promise<Required<Clouds>>,
    startGitHub({
      limits: { contentPerMinute: 10_000 },
      ...(options.basePath === undefined ? {} : { basePath: options.basePath }),
    }),
    makeRepository(options.files, options.refs ? { refs: options.refs } : {}),
    mkdtemp(join(tmpdir(), 'action-')),
    readDescription(),
  ])
  const onGitHub = github.addRepository({
    name: 'octo/tools',
    directory: repository.directory,
    private: options.private ?? false,
    collaborators: { writer: 'write', reader: 'read', triager: 'triage' },
  })
  github.addUser('stranger')
  const token = github.issueToken({ permissions: options.permissions ?? everything })
  const remote = await startGitRemote({
    repositories: { 'octo/tools': repository.directory },
    ...(options.private ? { credentials: { username: 'x-access-token', password: token } } : {}),
  })
  let steps = 0

  const environmentFor = async (step: StepOptions, files: Record<string, string>) => {
    const given: Record<string, string> = {
      'e2b-api-key': clouds.settings['E2B_API_KEY']!,
      'e2b-api-url': clouds.settings['E2B_API_URL']!,
      'e2b-sandbox-url': clouds.settings['E2B_SANDBOX_URL']!,
      'e2b-template': clouds.settings['E2B_TEMPLATE'] ?? '',
      'drive9-api-key': clouds.settings['DRIVE9_API_KEY']!,
      'drive9-server': clouds.settings['DRIVE9_SERVER']!,
      'llm-api-key': clouds.settings['LLM_API_KEY']!,
      'llm-base-url': clouds.settings['LLM_BASE_URL']!,
      'llm-model': clouds.settings['LLM_MODEL']!,
      ...step.inputs,
    }
    const inputs = Object.entries(description.inputs).map(([name, { default: usual = '' }]) => {
      const value = step.without?.includes(name) ? usual : (given[name] ?? usual)
      // The runner fills expressions in; only one stands in a default.
      return [`INPUT_${name.toUpperCase()}`, value.replace('${{ github.token }}', token)]
    })
    return {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: shipped.compileCache,
      HOME: folder,
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_EVENT_NAME: step.event.name,
      GITHUB_REPOSITORY: 'octo/tools',
      GITHUB_REPOSITORY_ID: String(onGitHub.id),
      GITHUB_SHA: step.event.sha ?? repository.head,
      GITHUB_REF: step.event.ref ?? 'refs/heads/main',
      GITHUB_ACTOR: 'writer',
      GITHUB_RUN_ID: step.runId ?? String(7_000 + steps),
      GITHUB_RUN_ATTEMPT: '1',
      GITHUB_SERVER_URL: remote.url,
      GITHUB_API_URL: github.apiUrl,
      RUNNER_TEMP: folder,
      ...files,
      ...Object.fromEntries(inputs),
      ...step.environment,
    }
  }

  async function start(
    program: 'main' | 'post',
    given: StepOptions,
    state: Record<string, string> = {},
  ): Promise<Step> {
    steps += 1
    const file = (name: string) => join(folder, `${steps}-${name}`)
    const files = {
      GITHUB_EVENT_PATH: file('event.json'),
      GITHUB_OUTPUT: file('output'),
      GITHUB_STATE: file('state'),
      GITHUB_STEP_SUMMARY: file('summary'),
      GITHUB_ENV: file('env'),
      GITHUB_PATH: file('path'),
    }
    const { GITHUB_EVENT_PATH, ...written } = files
    await Promise.all([
      writeFile(GITHUB_EVENT_PATH, JSON.stringify(given.event.payload)),
      ...Object.values(written).map((path) => writeFile(path, '')),
    ])
    const environment = await environmentFor(given, files)
    const saved = Object.fromEntries(Object.entries(state).map(([name, value]) => [`STATE_${name}`, value]))
    const child = spawn(node, [join(shipped.folder, description.runs[program])], {
      cwd: folder,
      env: { ...environment, ...saved },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = await watch(child, given)
    const [output = '', saves = '', summary = '', env = '', path = ''] = await Promise.all(
      Object.values(written).map((name) => readFile(name, 'utf8')),
    )
    // A masked secret is in the runner's own log once, which is not shown.
    secretWatch.addText('the log of a step', ended.raw.replace(/^::add-mask::.*$/gm, ''))
    for (const [what, text] of Object.entries({ outputs: output, 'saved state': saves, 'job summary': summary }))
      secretWatch.addText(`the ${what} of a step`, text)
    const log = readLog(ended.raw)
    const refused = [...log.refused, ...refusedFiles({ output, state: saves, env, path, summary })]
    if (refused.length > 0) throw new Error(`the runner refuses: ${refused.join('; ')}\n${ended.raw}`)
    return {
      ...ended,
      ...log,
      outputs: readPairs(output),
      state: { ...state, ...readPairs(saves) },
      summary,
      options: given,
    }
  }

  const close = async () => {
    const living = clouds.sandboxes.sandboxes.filter((sandbox) => sandbox.state !== 'gone').map((sandbox) => sandbox.id)
    const leaks = leaksOf(clouds, [], [token])
    await Promise.all([clouds.close(), github.close(), remote.close()])
    await programs?.[Symbol.asyncDispose]()
    await Promise.all([rm(folder, { recursive: true, force: true }), repository[Symbol.asyncDispose]()])
    const unknown = [
      ...github.unexpected,
      ...clouds.sandboxes.unsupported,
      ...clouds.drive.unexpected.map((request) => `${request.method} ${request.path}`),
    ]
    if (living.length > 0) throw new Error(`sandboxes that still live: ${living.join(', ')}`)
    if (leaks.length > 0) throw new Error(`secrets out of place:\n${leaks.join('\n')}`)
    if (unknown.length > 0) throw new Error(`unknown requests:\n${unknown.join('\n')}`)
  }
  const common = () => ({
    repository: { id: onGitHub.id, full_name: 'octo/tools', private: onGitHub.private, default_branch: 'main' },
  })
  return {
    clouds,
    github,
    remote,
    repository,
    onGitHub,
    token,
    folder,
    step: (given) => start('main', given),
    post: (main, environment = {}) =>
      start(
        'post',
        { event: main.options.event, ...(main.options.inputs ? { inputs: main.options.inputs } : {}), environment },
        main.state,
      ),
    push: (more = {}) => {
      const { sha = repository.head, ref = 'refs/heads/main', before = '0'.repeat(40) } = more
      return { name: 'push', sha, ref, payload: { ...common(), ref, before, after: sha, deleted: /^0+$/.test(sha) } }
    },
    pull: (number, sha, more = {}) => ({
      name: 'pull_request',
      sha: 'e'.repeat(40),
      ref: `refs/pull/${number}/merge`,
      payload: {
        ...common(),
        action: 'synchronize',
        number,
        pull_request: {
          number,
          head: { sha, ref: 'topic', repo: { id: onGitHub.id } },
          base: { ref: 'main', repo: { id: onGitHub.id } },
        },
        ...more,
      },
    }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function watch(child: ChildProcess, options: StepOptions) {
  let raw = ''
  let interrupted = false
  const { interruptAt, interruptWhen } = options
  const isTime = () => {
    if (interruptWhen?.()) return true
    return (
      interruptAt !== undefined && (typeof interruptAt === 'string' ? raw.includes(interruptAt) : interruptAt.test(raw))
    )
  }
  const look = () => {
    if (interrupted || !isTime()) return
    interrupted = true
    child.kill(options.signal ?? 'SIGINT')
  }
  const looking = interruptWhen && setInterval(look, 2)
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      raw += text
      look()
    })
  }
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (...how) => resolve(how))
  }).finally(() => clearInterval(looking))
  const wanted = interruptAt !== undefined || interruptWhen !== undefined
  if (wanted && !interrupted) throw new Error(`There was no moment to interrupt the step:\n${raw}`)
  return { code, signal, raw }
}
