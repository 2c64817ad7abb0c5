// What the service is measured on: the local clouds, one summarised commit, one instance.
import { createHash, randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { programText, repositoryRoot } from '../cli/sandbox-program.js'
import { startGitRemote } from '../emulators/git-http-server.js'
import { startClouds } from '../emulators/start-all.js'
import { startFunctions } from '../emulators/vercel/start.js'
import { createContext, parseRepository, parseSettings, summarise } from '../handoff/index.js'

const name = 'bench/handoff'
const never = new AbortController().signal

export interface ServiceBed extends AsyncDisposable {
  url: string
  token: string
  environment: Record<string, string>
  question(text: string): Record<string, unknown>
  living(): number
  /** What a call has the drive asked for, as addresses. */
  readsOf(call: () => Promise<unknown>): Promise<string[]>
  /** Gives every cloud the pace of a far one; returns how to take it back. */
  slow(): () => void
}

/** Milliseconds of the injected latencies. */
const far = { drive: 20, create: 400, model: 500 }

export async function startBed(): Promise<ServiceBed> {
  const clouds = await startClouds()
  const remote = await startGitRemote({ repositories: { [name]: repositoryRoot } })
  const environment: Record<string, string> = { ...clouds.settings, DRIVE9_ROOT: '/bench' }
  const context = createContext(parseSettings(environment), { program: programText, emit: () => {} })
  const [sha = ''] = (await context.ports.git.heads(remote.cloneUrl(name), ['HEAD'], never)).values()
  const repository = { ...parseRepository(name, new URL(remote.url).host), id: '1' }
  const { run } = await summarise(
    { commit: { repository, sha, cloneUrl: remote.cloneUrl(name) }, attempt: 'bench' },
    context,
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
    async readsOf(call) {
      const before = drive.requests.length
      await call()
      return drive.requests.slice(before).map(({ path }) => `${drive.url}${path}`)
    },
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
