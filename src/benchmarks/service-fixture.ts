// What the service is measured on: the local clouds, one summarised commit, one instance.
import { createHash, randomBytes } from 'node:crypto'
import { programText, repositoryRoot } from '../cli/sandbox-program.js'
import { startGitRemote } from '../emulators/git-http-server.js'
import { type Clouds, startClouds } from '../emulators/start-all.js'
import { startFunctions } from '../emulators/vercel/start.js'
import { createContext, parseRepository, parseSettings, summarise } from '../handoff/index.js'

export const repositoryName = 'bench/handoff'
const never = new AbortController().signal

export interface Summarised extends AsyncDisposable {
  clouds: Required<Clouds>
  /** Its clone address, and the commit that was summarised. */
  cloneUrl: string
  sha: string
  /** The bearer token of a caller. */
  token: string
  /** The settings of the service. */
  environment: Record<string, string>
  question(text: string): Record<string, unknown>
}

/** This repository, summarised on the local clouds. */
export async function startSummarised(): Promise<Summarised> {
  const clouds = (await startClouds()) as Required<Clouds>
  const remote = await startGitRemote({ repositories: { [repositoryName]: repositoryRoot } })
  const settings = { ...clouds.settings, DRIVE9_ROOT: '/bench' }
  const context = createContext(parseSettings(settings), { program: programText, emit: () => {} })
  const cloneUrl = remote.cloneUrl(repositoryName)
  const [sha = ''] = (await context.ports.git.heads(cloneUrl, ['HEAD'], never)).values()
  const repository = { ...parseRepository(repositoryName, new URL(remote.url).host), id: '1' }
  const { run } = await summarise({ commit: { repository, sha, cloneUrl }, attempt: 'bench' }, context, never)
  const token = randomBytes(20).toString('hex')
  return {
    clouds,
    cloneUrl,
    sha,
    token,
    environment: {
      ...settings,
      GITHUB_SERVER_URL: remote.url,
      HANDOFF_BEARERS: `bench=${createHash('sha256').update(token).digest('hex')}=*`,
    },
    question: (text) => ({ repository: repositoryName, run, question: text }),
    async [Symbol.asyncDispose]() {
      await Promise.all([clouds.close(), remote.close()])
    },
  }
}

export interface ServiceBed extends Summarised {
  url: string
  living(): number
  /** What a call has the drive asked for, as addresses. */
  readsOf(call: () => Promise<unknown>): Promise<string[]>
}

export async function startBed(): Promise<ServiceBed> {
  const summarised = await startSummarised()
  const { environment, clouds } = summarised
  const functions = await startFunctions({ root: repositoryRoot, environment })
  const { sandboxes, drive } = clouds
  return {
    ...summarised,
    url: functions.url,
    living: () => sandboxes.sandboxes.filter(({ state }) => state !== 'gone').length,
    async readsOf(call) {
      const before = drive.requests.length
      await call()
      return drive.requests.slice(before).map(({ path }) => `${drive.url}${path}`)
    },
    async [Symbol.asyncDispose]() {
      await functions.close()
      await summarised[Symbol.asyncDispose]()
    },
  }
}

export async function ask(url: string, token: string, body: unknown): Promise<{ status: number; headers: Headers }> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/ask`, { method: 'POST', body: JSON.stringify(body), headers })
  await response.arrayBuffer()
  return response
}
