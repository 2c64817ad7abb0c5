// Stores refs: each branch and pull request has a small file that names its last summarised head commit.
//
// A ref moves only to its current head at the git host. The file's revision is read before the host is asked, and the write is conditional on it.
// So an older head can never replace a newer one, and force-pushes need no special case.

import { isHandoffError } from '../domain/errors.js'
import { decodeRef, encodeRef, sealLimit } from '../domain/handoff-record.js'
import type { Ports } from '../domain/ports.js'
import { type Commit, type Layout, quote } from '../domain/run.js'
import { isYoung, readTombstone } from '../domain/tombstone.js'
import { awaitedLater } from '../util/abort.js'
import { readAtRevision, writeIfUnchanged } from './conditional-write.js'
import { hostRef } from './ref-heads.js'

interface RefMove {
  /** Moves the ref if its head is the commit. True if it points there now. A failure is only a notice, because the run is sealed. */
  finish(signal: AbortSignal): Promise<boolean>
}

type RefTools = Pick<Ports, 'drive' | 'git' | 'clock' | 'emit'>

/** Starts by reading the file's revision; `finish` asks the host and writes. */
export function prepareRef(ports: RefTools, place: Layout, commit: Commit, signal: AbortSignal): RefMove {
  const { ref } = commit
  if (ref === undefined || !/^refs\/(heads|pull)\//.test(ref)) return { finish: async () => false }
  const seen = awaitedLater(lookAt(ports, place, ref, signal))
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
  revision: Writable,
  signal: AbortSignal,
): Promise<boolean> {
  const { drive, git, clock } = ports
  const { ref, sha } = commit
  const path = place.ref(ref)
  let expectedRevision = revision
  for (let tries = 0; tries < mostTries; tries += 1) {
    // Prune is deleting the file: what is written now could be deleted with it.
    if (expectedRevision === 'being-removed') {
      await clock.sleep(500 * 2 ** tries, signal)
      expectedRevision = await writableRevision(ports, path, signal)
      continue
    }
    const heads = await git.heads(commit.cloneUrl, [hostRef(ref)], signal)
    if (heads.get(hostRef(ref)) !== sha) return false
    const bytes = encodeRef({ version: 1, commit: sha, ref })
    if ((await writeIfUnchanged(drive, path, bytes, expectedRevision, signal)) !== undefined) return true
    expectedRevision = await writableRevision(ports, path, signal)
  }
  notMoved(ports, ref, commit, `Other jobs wrote it ${mostTries} times in between.`)
  return false
}

function notMoved({ emit }: RefTools, ref: string, { sha }: Commit, why: string): void {
  const what = `The file of ${quote(ref)} could not be moved to ${sha.slice(0, 7)}; it may name an older commit until the next push.`
  emit({ type: 'notice', text: `${what} ${why}` })
}

async function lookAt(ports: RefTools, place: Layout, ref: string, signal: AbortSignal) {
  const path = place.ref(ref)
  const [stat, bytes] = await Promise.all([
    ports.drive.stat(path, signal),
    ports.drive.read(path, { maxBytes: sealLimit, signal }),
  ])
  if (bytes !== null && readTombstone(bytes)) return { revision: await writableRevision(ports, path, signal) }
  return { revision: stat?.revision ?? 0, named: bytes === null ? undefined : decodeRef(bytes).commit }
}

/** The revision that a write may replace. The tombstone of a process that died may be replaced too. */
type Writable = number | 'being-removed'

async function writableRevision({ drive, clock }: RefTools, path: string, signal: AbortSignal): Promise<Writable> {
  const { bytes, revision } = await readAtRevision(drive, path, sealLimit, signal)
  const tombstone = bytes === null ? undefined : readTombstone(bytes)
  return tombstone && isYoung(tombstone, clock.now()) ? 'being-removed' : revision
}
