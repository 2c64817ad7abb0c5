// Stores refs: each branch and pull request has a small file that names its last summarised head commit.
//
// A ref moves only to its current head at the git host. The file's revision is read before the host is asked, and the write is conditional on it.
// So an older head can never replace a newer one, and force-pushes need no special case.
import { isHandoffError } from '../domain/errors.js'
import { decodeRef, encodeRef, sealLimit } from '../domain/handoff-record.js'
import type { Drive, Ports } from '../domain/ports.js'
import { type Commit, type Layout, quote } from '../domain/run.js'

/** The name of a ref at the git host, where a pull request's head has a ref of its own. */
export function hostRef(ref: string): string {
  const pull = /^refs\/pull\/(\d+)/.exec(ref)
  return pull ? `refs/pull/${pull[1]}/head` : ref
}

export interface RefMove {
  /** Moves the ref if its head is the commit. True if it points there now. A failure is only a notice, because the run is sealed. */
  finish(signal: AbortSignal): Promise<boolean>
}

type RefTools = Pick<Ports, 'drive' | 'git' | 'emit'>

/** Starts by reading the file's revision; `finish` asks the host and writes. */
export function prepareRef(ports: RefTools, place: Layout, commit: Commit, signal: AbortSignal): RefMove {
  const { ref } = commit
  if (ref === undefined || !/^refs\/(heads|pull)\//.test(ref)) return { finish: async () => false }
  const seen = lookAt(ports.drive, place, ref, signal)
  // `finish` reports its failure, so it must not be an unhandled rejection before.
  seen.catch(() => undefined)
  return {
    async finish(later) {
      try {
        const { revision, named } = await seen
        return named === commit.sha || (await moveRef(ports, place, { ...commit, ref }, revision, later))
      } catch (error) {
        notMoved(ports, ref, commit, isHandoffError(error) ? error.message : 'An unexpected error.')
        return false
      }
    },
  }
}

const mostTries = 5

async function moveRef(
  ports: RefTools,
  place: Layout,
  commit: Commit & { ref: string },
  revision: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { drive, git } = ports
  const { ref, sha } = commit
  const path = place.ref(ref)
  let expectedRevision = revision
  for (let tries = 0; tries < mostTries; tries += 1) {
    const heads = await git.heads(commit.cloneUrl, [hostRef(ref)], signal)
    if (heads.get(hostRef(ref)) !== sha) return false
    try {
      await drive.write(path, encodeRef({ version: 1, commit: sha, ref }), { expectedRevision, signal })
      return true
    } catch (error) {
      if (!isHandoffError(error, 'conflict')) throw error
      expectedRevision = await revisionOf(drive, path, signal)
    }
  }
  notMoved(ports, ref, commit, `Other jobs wrote it ${mostTries} times in between.`)
  return false
}

function notMoved({ emit }: RefTools, ref: string, { sha }: Commit, why: string): void {
  const what = `The file of ${quote(ref)} could not be moved to ${sha.slice(0, 7)}; it may name an older commit until the next push.`
  emit({ type: 'notice', text: `${what} ${why}` })
}

async function lookAt(drive: Drive, place: Layout, ref: string, signal: AbortSignal) {
  const [revision, named] = await Promise.all([
    revisionOf(drive, place.ref(ref), signal),
    readRef(drive, place, ref, signal),
  ])
  return { revision, named }
}

async function revisionOf(drive: Drive, path: string, signal: AbortSignal): Promise<number> {
  return (await drive.stat(path, signal))?.revision ?? 0
}

/** The commit that a ref's file names, if there is one. */
export async function readRef(
  drive: Drive,
  place: Layout,
  ref: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await drive.read(place.ref(ref), { maxBytes: sealLimit, signal })
  return bytes === null ? undefined : decodeRef(bytes).commit
}
