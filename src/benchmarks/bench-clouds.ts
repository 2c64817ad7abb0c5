// The clouds of a bench on one generated repository, as slow as real ones when that is asked for.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programText } from '../cli/sandbox-program.js'
import { startGitRemote } from '../emulators/git-http-server.js'
import { type Clouds, programFolder, startClouds } from '../emulators/start-all.js'
import {
  type AppContext,
  type Commit,
  createContext,
  parseRepository,
  parseSettings,
  type RunEvent,
} from '../handoff/index.js'
import { type GeneratedRepository, generateRepository } from './generated-repository.js'

/** Milliseconds: a sandbox until its first command, a mount at 50 ms to drive9, and one round trip to drive9. */
export const latency = { create: 491, mount: 500, drive: 50 }

/** It has prices. */
const benchModel = 'offline/gpt-6-luna'

export interface BenchClouds extends AsyncDisposable {
  clouds: Required<Clouds>
  context: AppContext
  commit: Commit
  repository: GeneratedRepository
  /** Times of the program inside the last sandbox, by step. */
  inside: Map<string, number>
  /** With the time of each. */
  events: { at: number; event: RunEvent }[]
  slowDown(): void
  fullSpeed(): void
  /** What a program needs to use the clouds. */
  settings: Record<string, string>
}

/** Emits no event but into `events`. A model reads a little of the repository only, so that the rest is what is measured. */
export async function openBenchClouds(files: number): Promise<BenchClouds> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'handoff-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const repository = await generateRepository(folder, files)
  // Variables of E2B pass into the programs of a sandbox.
  const environment = { E2B_BENCH_MOUNT: String((latency.mount - latency.drive) / 1_000) }
  const programs = [fileURLToPath(new URL('bin', import.meta.url)), programFolder]
  const clouds = opening.use(
    (await startClouds({ sandboxes: { programs, environment }, model: { name: benchModel } })) as Required<Clouds>,
  )
  const remote = opening.use(await startGitRemote({ repositories: { 'local/generated': repository.directory } }))
  const events: BenchClouds['events'] = []
  const settings = { ...clouds.settings, LLM_CONTEXT_TOKENS: '1000000', HANDOFF_MAX_INPUT_TOKENS: '100000' }
  const context = createContext(parseSettings(settings), {
    program: programText,
    emit: (event) => void events.push({ at: performance.now(), event }),
  })
  const commit = {
    repository: parseRepository('local/generated', 'localhost'),
    sha: repository.sha,
    cloneUrl: remote.cloneUrl('local/generated'),
  }
  const inside = new Map<string, number>()
  const kept = opening.move()
  return {
    clouds,
    context: withStepsInside(context, inside),
    commit,
    repository,
    inside,
    events,
    settings,
    slowDown() {
      clouds.sandboxes.rule({ method: 'POST', path: /^\/v2\/sandboxes$/, fault: delayed(latency.create) })
      clouds.drive.rule({ fault: delayed(latency.drive) })
    },
    fullSpeed() {
      clouds.sandboxes.clearRules()
      clouds.drive.clearRules()
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const delayed = (milliseconds: number) => ({ kind: 'delay', milliseconds }) as const

/** Reads the steps that a sandbox program reports of itself. */
function withStepsInside(context: AppContext, inside: Map<string, number>): AppContext {
  const { sandboxes } = context.ports
  const open: typeof sandboxes.open = async (...words) => {
    const sandbox = await sandboxes.open(...words)
    return {
      ...sandbox,
      run: (command, options) =>
        sandbox.run(command, {
          ...options,
          onOutput(text) {
            for (const [, step = '', milliseconds] of text.matchAll(stepRecord)) inside.set(step, Number(milliseconds))
            options.onOutput(text)
          },
        }),
    }
  }
  return { ...context, ports: { ...context.ports, sandboxes: { ...sandboxes, open } } }
}

const stepRecord = /"type":"step","step":"(\w+)","milliseconds":(\d+)/g

export const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
export const listed = (values: readonly number[]) => values.map((value) => Math.round(value)).join(' ')
