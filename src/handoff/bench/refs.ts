// Branches and pull requests: each has a small file that names the commit at its head when it was last summarised.
//
// A ref moves only to what the git host says is its head now. The file's revision is read before the host is asked and the write is conditional
// on it, so an older answer of the host can never replace a newer one; a force-push needs no case of its own.
import { isHandoffError } from '../library/errors.js'
import { decodeRef, encodeRef, sealLimit } from '../library/handoff.js'
import type { Commit, Layout } from '../library/run.js'
import type { Drive, GitHost } from '../library/tools.js'

/** How a ref is asked for at the host: a pull request's head has a name of its own there. */
export function hostRef(ref: string): string {
  const pull = /^refs\/pull\/(\d+)/.exec(ref)
  return pull ? `refs/pull/${pull[1]}/head` : ref
}

export interface RefMove {
  /** Moves the ref if its head is the commit; true when it points there now. */
  finish(signal: AbortSignal): Promise<boolean>
}

/** Starts by reading the file's revision; `finish` asks the host and writes. */
export async function prepareRef(
  drive: Drive,
  git: GitHost,
  place: Layout,
  commit: Commit,
  signal: AbortSignal,
): Promise<RefMove> {
  const ref = commit.ref
  if (ref === undefined || !/^refs\/(heads|pull)\//.test(ref)) return { finish: async () => false }
  const path = place.ref(ref)
  const [before, named] = await Promise.all([revision(drive, path, signal), readRef(drive, place, ref, signal)])
  if (named === commit.sha) return { finish: async () => true }
  let seen = before
  return {
    async finish(later) {
      for (let tries = 0; tries < 5; tries += 1) {
        const heads = await git.heads(commit.cloneUrl, [hostRef(ref)], later)
        if (heads.get(hostRef(ref)) !== commit.sha) return false
        try {
          await drive.write(path, encodeRef({ version: 1, commit: commit.sha }), {
            expectedRevision: seen,
            signal: later,
          })
          return true
        } catch (error) {
          if (!isHandoffError(error, 'conflict')) throw error
          seen = await revision(drive, path, later)
        }
      }
      return false
    },
  }
}

async function revision(drive: Drive, path: string, signal: AbortSignal): Promise<number> {
  return (await drive.stat(path, signal))?.revision ?? 0
}

/** The commit a ref's file names, or nothing. */
export async function readRef(
  drive: Drive,
  place: Layout,
  ref: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await drive.read(place.ref(ref), { maxBytes: sealLimit, signal })
  return bytes === null ? undefined : decodeRef(bytes).commit
}
