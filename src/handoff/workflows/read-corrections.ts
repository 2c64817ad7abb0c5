// Reads the corrections that hold for a run. Most repositories have none, so what believes them is loaded only where there are some.
import type { ReadContext } from '../context.js'
import type { Correction } from '../domain/corrections/correction.js'
import { isHandoffError } from '../domain/errors.js'
import { layout, type Repository } from '../domain/run.js'
import { type ChosenRun, repositoryOf } from './answer/resolve-run.js'

const mostBytes = 4_000_000

/** The stored corrections of a repository, which hold for a run once they are checked against it. */
export const readCorrections = (
  { ports, root }: ReadContext,
  repository: Repository,
  signal: AbortSignal,
): Promise<Uint8Array | null> => ports.drive.read(layout(root, repository).corrections, { maxBytes: mostBytes, signal })

/** Fails only when aborted: corrections that cannot be read must not prevent an answer. */
export async function correctionsOf(
  context: ReadContext,
  run: Pick<ChosenRun, 'directory' | 'handoff'>,
  signal: AbortSignal,
  reading = readCorrections(context, repositoryOf(run), signal),
): Promise<Correction[]> {
  try {
    const bytes = await reading
    if (bytes === null) return []
    const { heldCorrections } = await import('./corrections-of-run.js')
    return await heldCorrections(context, run, bytes, signal)
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    return []
  }
}
