// What the service is measured on: the local clouds, one summarised commit, one instance; and processes that answer one request and end.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { connect, parseRepository, parseSettings, summarise } from '../../handoff/index.js'
import { startClouds } from '../../local/clouds.js'
import { startFunctions } from '../../local/functions.js'
import { startGitRemote } from '../../local/git-remote.js'
import { programText, repositoryRoot } from '../program.js'

const name = 'bench/handoff'
const never = new AbortController().signal

export interface ServiceBed extends AsyncDisposable {
  url: string
  token: string
  environment: Record<string, string>
  question(text: string): Record<string, unknown>
  living(): number
  /** Gives every cloud the pace of a far one; returns how to take it back. */
  slow(): () => void
}

/** Milliseconds of the injected latencies. */
const far = { drive: 20, create: 400, model: 500 }

export async function startBed(): Promise<ServiceBed> {
  const clouds = await startClouds()
  const remote = await startGitRemote({ repositories: { [name]: repositoryRoot } })
  const environment: Record<string, string> = { ...clouds.settings, DRIVE9_ROOT: '/bench' }
  const house = connect(parseSettings(environment), { program: programText, emit: () => {} })
  const [sha = ''] = (await house.tools.git.heads(remote.cloneUrl(name), ['HEAD'], never)).values()
  const repository = { ...parseRepository(name, new URL(remote.url).host), id: '1' }
  const { run } = await summarise(
    { commit: { repository, sha, cloneUrl: remote.cloneUrl(name) }, attempt: 'bench' },
    house,
    never,
  )
  const token = randomBytes(20).toString('hex')
  Object.assign(environment, {
    GITHUB_SERVER_URL: remote.url,
    HANDOFF_BEARERS: `bench=${createHash('sha256').update(token).digest('hex')}=*`,
  })
  const functions = await startFunctions({ root: repositoryRoot, environment })
  const { sandboxes, drive, model } = clouds
  if (!sandboxes || !drive || !model) throw new Error('The bench wants all three clouds on this machine.')
  return {
    url: functions.url,
    token,
    environment,
    question: (text) => ({ repository: name, run, question: text }),
    living: () => sandboxes.sandboxes.filter(({ state }) => state !== 'gone').length,
    slow() {
      const rules = [
        drive.rule({ fault: { kind: 'delay', milliseconds: far.drive } }),
        sandboxes.rule({ method: 'POST', path: /sandboxes$/, fault: { kind: 'delay', milliseconds: far.create } }),
        model.rule({ fault: { kind: 'delay', milliseconds: far.model } }),
      ]
      return () => {
        for (const takeBack of rules) takeBack()
      }
    },
    async [Symbol.asyncDispose]() {
      await functions.close()
      await Promise.all([clouds.close(), remote.close()])
    },
  }
}

export async function ask(url: string, token: string, body: unknown): Promise<{ status: number; headers: Headers }> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/ask`, { method: 'POST', body: JSON.stringify(body), headers })
  await response.arrayBuffer()
  return response
}

/** When the first word came, and how long the steps took that it had to wait for one after the other. */
export async function firstWord(bed: ServiceBed, text: string): Promise<{ total: number; path: number }> {
  const started = performance.now()
  const response = await fetch(`${bed.url}/api/ask`, {
    method: 'POST',
    body: JSON.stringify(bed.question(text)),
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${bed.token}` },
  })
  const steps = new Map<string, number>()
  let total = 0
  let answering = 0
  let rest = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body ?? []) {
    rest += decoder.decode(piece, { stream: true })
    const frames = rest.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const data = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '{}') as {
        state?: string
        step?: string
        milliseconds?: number
      }
      if (data.state === 'step-done') steps.set(data.step ?? '', data.milliseconds ?? 0)
      if (data.state === 'step' && data.step === 'answer') answering = performance.now()
      if (frame.includes('event: token') && total === 0) total = performance.now() - started
    }
  }
  const before = ['look up', 'claim', 'open sandbox', 'find'].reduce((sum, step) => sum + (steps.get(step) ?? 0), 0)
  return { total, path: before + (total - (answering - started)) }
}

// ── processes that answer one request ─────────────────────────────────────────────────────────────────────────────────────────────

export interface Cold {
  file: string
  path: string
  body?: unknown
  /** Asked after the first, in the same process. */
  again?: unknown
  token?: string
  environment: Record<string, string>
  /** Instead of a request: what is only imported, as seen from the file. */
  importing?: string[]
  /** Counts the SDKs that were loaded, which takes time itself. */
  listing?: boolean
}

export interface ColdRun {
  wall: number
  load: number
  first: number
  second: number
  sdks: number
}

const program = `
import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
const given = JSON.parse(process.argv[1])
const loaded = new Set()
if (given.listing) registerHooks({ load: (url, context, next) => { loaded.add(url); return next(url, context) } })
const began = performance.now()
const sdk = (word) => import(pathToFileURL(createRequire(given.file).resolve(word)))
if (given.importing) { for (const word of given.importing) await sdk(word) }
const made = given.importing ? undefined : await import(pathToFileURL(given.file))
const load = performance.now() - began
const headers = { 'content-type': 'application/json', ...(given.token ? { authorization: 'Bearer ' + given.token } : {}) }
const send = async (body) => {
  const at = performance.now()
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body), headers }
  await (await made.default.fetch(new Request('http://bench' + given.path, init))).text()
  return performance.now() - at
}
console.log = () => {}
const first = made ? await send(given.body) : 0
const second = given.again ? await send(given.again) : 0
const sdks = ['e2b', 'openai', '@actions/github'].filter((word) => [...loaded].some((url) => url.includes('/node_modules/' + word + '/'))).length
process.stdout.write('\\n' + JSON.stringify({ load, first, second, sdks }), () => process.exit(0))
`

export function coldRun(subject: Cold): Promise<ColdRun> {
  const { environment, ...given } = subject
  const began = performance.now()
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(given)], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (piece) => {
    text += String(piece)
  })
  return new Promise((resolve, reject) => {
    child.on('close', () => {
      const wall = performance.now() - began
      try {
        resolve({ wall, ...(JSON.parse(text.trim().split('\n').at(-1) ?? '') as Omit<ColdRun, 'wall'>) })
      } catch (error) {
        reject(error as Error)
      }
    })
  })
}
