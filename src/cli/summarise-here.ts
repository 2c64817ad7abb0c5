// Summarises a repository of this machine, so that there is a run to ask about.
import { createContext, parseRepository, summarise } from '../handoff/index.js'
import type { OpenClouds } from './resolve-clouds.js'
import { resolveTarget } from './resolve-repository.js'
import { programText } from './sandbox-program.js'

interface Here {
  /** The work tree. */
  directory: string
  /** `owner/name` at the git host that serves it. */
  name: string
  /** The git host. */
  server: string
  cloneUrl: string
}

/** Returns the id of the run. */
export async function summariseHere(
  clouds: OpenClouds,
  { directory, name, server, cloneUrl }: Here,
  say: (text: string) => void,
  stop: AbortSignal,
): Promise<string> {
  const subject = await resolveTarget(directory, clouds, stop)
  const context = createContext(clouds.settings(), { program: programText, emit: () => {} })
  const commit = {
    repository: parseRepository(name, new URL(server).host),
    sha: subject.commit.sha,
    cloneUrl,
    ref: 'refs/heads/main',
  }
  say(`Summarising ${commit.sha.slice(0, 12)} …`)
  const { run } = await summarise({ commit, attempt: `local-${context.ports.uniqueId()}` }, context, stop)
  say(`run ${run}`)
  return run
}
