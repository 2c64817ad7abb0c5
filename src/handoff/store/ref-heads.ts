// Reads refs: which commit a branch or a pull request points to, at the git host and in the file that names its last summarised commit.
import { decodeRef, sealLimit } from '../domain/handoff-record.js'
import type { Drive, Ports } from '../domain/ports.js'
import type { Layout } from '../domain/run.js'
import { readTombstone } from '../domain/tombstone.js'

/** The name of a ref at the git host, where a pull request's head has a ref of its own. */
export function hostRef(ref: string): string {
  const pull = /^refs\/pull\/(\d+)/.exec(ref)
  return pull ? `refs/pull/${pull[1]}/head` : ref
}

/** The head at the host, and the newest commit of it that was summarised. Only the host knows which branch `HEAD` is. */
export async function headsOf(
  ref: string,
  cloneUrl: string | undefined,
  place: Layout,
  { git, drive }: Pick<Ports, 'git' | 'drive'>,
  signal: AbortSignal,
): Promise<[string | undefined, string | undefined]> {
  if (ref === 'HEAD') {
    const heads = cloneUrl === undefined ? undefined : await git.heads(cloneUrl, ['HEAD'], signal)
    const branch = [...(heads?.keys() ?? [])].find((name) => name.startsWith('refs/heads/'))
    return [heads?.get('HEAD'), branch && (await readRef(drive, place, branch, signal))]
  }
  // Throws for a ref that cannot be.
  place.ref(ref)
  return Promise.all([
    cloneUrl && git.heads(cloneUrl, [hostRef(ref)], signal).then((heads) => heads.get(hostRef(ref))),
    readRef(drive, place, ref, signal),
  ])
}

/** The commit that a ref's file names, if there is one. */
export async function readRef(
  drive: Drive,
  place: Layout,
  ref: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await drive.read(place.ref(ref), { maxBytes: sealLimit, signal })
  return bytes === null || readTombstone(bytes) ? undefined : decodeRef(bytes).commit
}
