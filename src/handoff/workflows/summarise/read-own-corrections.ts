// Reads what people corrected, before a commit is summarised: Sandbox A looks for the lines.
import type { AppContext } from '../../context.js'
import type { Correction } from '../../domain/corrections/correction.js'
import { isHandoffError } from '../../domain/errors.js'
import type { Layout } from '../../domain/run.js'
import { readCorrections } from '../../store/correction-store.js'
import type { SummariseRequest } from './types.js'

/** Corrections that cannot be read cost no run: they are shown again when they can. */
export async function readOwnCorrections(
  { commit: { repository } }: SummariseRequest,
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
