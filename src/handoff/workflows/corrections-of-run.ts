// Which corrections of a repository hold for a run. The run says what became of the lines, for corrections that are older than it. For younger ones
// the file table tells whether their files have the same content.
import type { AppContext, ReadContext } from '../context.js'
import { type Correction, decodeCorrections, type HeldCorrections } from '../domain/corrections/correction.js'
import { isHandoffError } from '../domain/errors.js'
import { artifact, type Layout, type Repository } from '../domain/run.js'
import { readCorrections } from '../store/correction-store.js'
import { findSealedFile, type RunFiles, readBlobs } from './read-sealed-files.js'

/** `bytes` are the repository's list. */
export async function heldCorrections(
  context: ReadContext,
  run: RunFiles,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<Correction[]> {
  const { commit, repositoryId: own } = run.handoff
  const all = decodeCorrections(bytes).corrections.filter(({ repositoryId: id }) => (id ?? own) === (own ?? id))
  const known = all.length === 0 ? nothingHeld : await readHeld(context, run, signal)
  const held = new Map(known.corrections.map((correction) => [correction.id, correction]))
  const ended = new Set(known.ended)
  const isYounger = ({ id, commit: of }: Correction) => of !== commit && !held.has(id) && !ended.has(id)
  const blobs = all.some(isYounger) ? await readBlobs(context, run, signal) : undefined
  const isThere = (correction: Correction) => correction.places.every(({ path, blob }) => blobs?.get(path) === blob)
  return all.flatMap((correction) => {
    if (correction.commit === commit) return [correction]
    if (!isYounger(correction)) return held.get(correction.id) ?? []
    return isThere(correction) ? [{ ...correction, commit }] : []
  })
}

const nothingHeld: HeldCorrections = { corrections: [], ended: [] }

async function readHeld(context: ReadContext, run: RunFiles, signal: AbortSignal): Promise<HeldCorrections> {
  const bytes = await findSealedFile(context, run, artifact.corrections, 4_000_000, signal)
  return bytes ? decodeCorrections(bytes) : nothingHeld
}

/**
 * All corrections of a repository, before a commit is summarised: Sandbox A looks for their lines. Corrections that cannot be read cost no run: they
 * are shown again when they can.
 */
export async function readOwnCorrections(
  repository: Repository,
  { ports }: AppContext,
  place: Layout,
  signal: AbortSignal,
): Promise<Correction[]> {
  try {
    const found = await readCorrections(ports.drive, place, signal)
    return found.filter(({ repositoryId: id }) => id === undefined || id === (repository.id ?? id))
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    ports.emit({ type: 'notice', text: `The corrections could not be read: ${error.message}` })
    return []
  }
}
