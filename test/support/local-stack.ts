// Everything a test needs on loopback: emulators of the three clouds, a git server with repositories, and a context wired as in production.
// `close` fails the test if a sandbox is alive, a request was unknown, or a secret stands where it must not.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type GitRemote, startGitRemote } from '../../src/emulators/git-http-server.js'
import { type Clouds, type CloudsOptions, startClouds } from '../../src/emulators/start-all.js'
import { type Commit, parseRepository } from '../../src/handoff/domain/run.js'
import { parseSettings } from '../../src/handoff/domain/settings.js'
import { type AppContext, createContext, type RunEvent } from '../../src/handoff/index.js'
import { type RepeatedPrograms, type RepeatedProgramsOptions, startRepeatedPrograms } from './repeated-programs.js'
import { leaksOf } from './secrets.js'

export interface LocalStackOptions {
  clouds?: CloudsOptions
  /** Bare repositories or work trees by name (`owner/name`). */
  repositories: Record<string, string>
  /** Basic password that the git remote wants. */
  cloneToken?: string
  settings?: Record<string, string>
  /** A task that a sandbox program did before is repeated from its recording: for tests whose subject is not the program. */
  repeated?: RepeatedProgramsOptions
}

export interface LocalStack extends AsyncDisposable {
  clouds: Required<Clouds>
  remote: GitRemote
  context: AppContext
  events: RunEvent[]
  /** Where programs are repeated: how many tasks were. */
  repeated?: RepeatedPrograms['counts']
  /** Further secrets that `close` looks for. */
  secrets: string[]
  /** A second context on the same emulators, as in another process. */
  makeContext(settings?: Record<string, string>): AppContext
  commit(name: string, sha: string, ref?: string): Commit
  close(): Promise<void>
}

const program = (name: string) => readFile(join(import.meta.dirname, `../../dist/sandbox-${name}.js`), 'utf8')

export async function startLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const programs = options.repeated && (await startRepeatedPrograms(options.repeated))
  const sandboxes = { ...options.clouds?.sandboxes, ...(programs ? { path: [programs.folder] } : {}) }
  const [clouds, remote] = await Promise.all([
    startClouds({ ...options.clouds, sandboxes }) as Promise<Required<Clouds>>,
    startGitRemote({
      repositories: options.repositories,
      ...(options.cloneToken === undefined
        ? {}
        : { credentials: { username: 'x-access-token', password: options.cloneToken } }),
    }),
  ])
  const events: RunEvent[] = []
  const environment = { ...clouds.settings, DRIVE9_ROOT: '/handoff', ...options.settings }
  const another = (settings: Record<string, string> = {}) =>
    createContext(parseSettings({ ...environment, ...settings }), {
      program,
      emit: (event) => events.push(event),
      ...(options.cloneToken === undefined ? {} : { cloneToken: options.cloneToken }),
    })
  const secrets: string[] = options.cloneToken === undefined ? [] : [options.cloneToken]
  const close = async () => {
    const living = clouds.sandboxes.sandboxes.filter((sandbox) => sandbox.state !== 'gone').map((sandbox) => sandbox.id)
    const leaks = leaksOf(clouds, events, secrets)
    await Promise.all([clouds.close(), remote.close()])
    await programs?.[Symbol.asyncDispose]()
    const unknown = [
      ...clouds.sandboxes.unsupported,
      ...clouds.drive.unexpected.map((request) => `${request.method} ${request.path}`),
    ]
    if (living.length > 0) throw new Error(`sandboxes that are still alive: ${living.join(', ')}`)
    if (leaks.length > 0) throw new Error(`secrets out of place:\n${leaks.join('\n')}`)
    if (unknown.length > 0) throw new Error(`unknown requests:\n${unknown.join('\n')}`)
  }
  return {
    clouds,
    remote,
    context: another(),
    events,
    ...(programs ? { repeated: programs.counts } : {}),
    secrets,
    makeContext: another,
    commit: (name, sha, ref) => ({
      repository: parseRepository(name, 'git.example.org'),
      sha,
      cloneUrl: remote.cloneUrl(name),
      ...(ref === undefined ? {} : { ref }),
    }),
    close,
    [Symbol.asyncDispose]: close,
  }
}
