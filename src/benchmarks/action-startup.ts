// How long the Action takes to start: as ratios to an empty Node and, where a copy is at hand, to actions/checkout, which every workflow runs.
// The subjects take turns, so that a machine that is busy for a while is busy for all of them; the smallest time of each is compared, and every
// run is printed.
import { spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { repositoryRoot } from '../cli/sandbox-program.js'
import { exampleModel } from '../handoff/domain/model-prices.js'

const runs = 20

interface Subject {
  name: string
  arguments: string[]
  environment: Record<string, string>
  /** Ends at its first request, not at its end. */
  untilRequest?: boolean
  /** At most this many times the time of actions/checkout. */
  most?: number
}

interface ActionBench {
  name: string
  milliseconds: number[]
  /** Of the smallest times. */
  toEmptyNode: number
  toCheckout?: number
  most?: number
}

export async function benchAction(checkoutDirectory?: string): Promise<ActionBench[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-action-'))
  const outside = await startOutside()
  try {
    await cp(join(repositoryRoot, 'dist'), join(folder, 'dist'), { recursive: true })
    const subjects = await subjectsFor(folder, outside.url, checkoutDirectory)
    const times = new Map<string, number[]>(subjects.map(({ name }) => [name, []]))
    for (let round = 0; round < runs; round += 1) {
      for (const subject of subjects) times.get(subject.name)!.push(await timeOf(subject, folder, outside.nextRequest))
    }
    return report(subjects, times)
  } finally {
    await outside.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function subjectsFor(folder: string, url: string, checkout: string | undefined): Promise<Subject[]> {
  const push = join(folder, 'push.json')
  const star = join(folder, 'star.json')
  await Promise.all([writeFile(push, '{}'), writeFile(star, '{}')])
  const ours = [join(folder, 'dist/index.js')]
  const common = {
    GITHUB_REPOSITORY: 'octo/tools',
    GITHUB_SHA: '1'.repeat(40),
    GITHUB_REF: 'refs/heads/main',
    GITHUB_RUN_ID: '1',
    GITHUB_WORKSPACE: folder,
    RUNNER_TEMP: folder,
  }
  const keys = {
    'INPUT_E2B-API-KEY': 'e2b_00000000000000000000000000000000',
    'INPUT_DRIVE9-API-KEY': 'bench-drive9-key',
    'INPUT_DRIVE9-SERVER': url,
    'INPUT_LLM-API-KEY': 'bench-model-key',
    'INPUT_LLM-MODEL': exampleModel,
  }
  const event = (name: string, path: string) => ({
    ...common,
    ...keys,
    GITHUB_EVENT_NAME: name,
    GITHUB_EVENT_PATH: path,
  })
  const subjects: Subject[] = [
    { name: 'empty node', arguments: ['-e', '0'], environment: {} },
    {
      name: 'step after the job',
      arguments: [join(folder, 'dist/post.js')],
      environment: { ...event('push', push), STATE_finished: 'true' },
      most: 1,
    },
    { name: 'ignored event', arguments: ours, environment: event('star', star), most: 1 },
    {
      name: 'summarise to its first call',
      arguments: ours,
      environment: event('push', push),
      untilRequest: true,
      most: 1.5,
    },
  ]
  if (checkout === undefined) return subjects
  const theirs = { name: 'actions/checkout', arguments: [join(checkout, 'dist/index.js')] }
  return [...subjects, { ...theirs, environment: { ...common, STATE_isPost: 'true', GITHUB_EVENT_PATH: push } }]
}

async function timeOf(subject: Subject, folder: string, nextRequest: () => Promise<void>): Promise<number> {
  const start = performance.now()
  const child = spawn(process.execPath, subject.arguments, {
    cwd: folder,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...subject.environment },
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', () => resolve())
  })
  if (!subject.untilRequest) {
    await ended
    return performance.now() - start
  }
  await Promise.race([nextRequest(), ended.then(() => Promise.reject(new Error('It ended before its first request.')))])
  const time = performance.now() - start
  child.kill('SIGKILL')
  await ended
  return time
}

/** A server that never replies: the benchmark measures only when a request arrives. */
async function startOutside() {
  let tell = () => {}
  const server = createServer(() => tell())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    nextRequest: () =>
      new Promise<void>((resolve) => {
        tell = resolve
      }),
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function report(subjects: Subject[], times: Map<string, number[]>): ActionBench[] {
  const smallest = (name: string) => Math.min(...(times.get(name) ?? [Number.NaN]))
  const results = subjects.map(({ name, most }) => ({
    name,
    milliseconds: times.get(name)!,
    toEmptyNode: smallest(name) / smallest('empty node'),
    ...(times.has('actions/checkout') ? { toCheckout: smallest(name) / smallest('actions/checkout') } : {}),
    ...(most === undefined ? {} : { most }),
  }))
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say(
    `Start-up of the Action, ${runs} runs each in turn, Node ${process.versions.node}; ratios are of the smallest times.`,
  )
  for (const { name, milliseconds, toEmptyNode, toCheckout, most } of results) {
    const checkout = toCheckout === undefined ? '' : `, ${toCheckout.toFixed(2)} × actions/checkout`
    const limit =
      most === undefined || toCheckout === undefined ? '' : toCheckout <= most ? ` (≤ ${most})` : ` (OVER ${most})`
    say(
      `  ${name.padEnd(28)} ${Math.min(...milliseconds)
        .toFixed(1)
        .padStart(6)} ms, ${toEmptyNode.toFixed(2)} × empty node${checkout}${limit}`,
    )
    say(`    ${milliseconds.map((time) => time.toFixed(1)).join(' ')}`)
  }
  return results
}
