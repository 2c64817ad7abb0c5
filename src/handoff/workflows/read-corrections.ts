// Reads the corrections that hold for a run. Most repositories have none, so what believes them is loaded only where there are some.
import type { ReadContext } from '../context.js'
import type { Correction } from '../domain/corrections/correction.js'
import { isHandoffError } from '../domain/errors.js'
import { layout } from '../domain/run.js'
import { type ChosenRun, repositoryOf } from './answer/resolve-run.js'

const mostBytes = 4_000_000

/** Fails only when aborted: corrections that cannot be read must not prevent an answer. */
export async function correctionsOf(
  context: ReadContext,
  run: Pick<ChosenRun, 'directory' | 'handoff'>,
  signal: AbortSignal,
): Promise<Correction[]> {
  const path = layout(context.root, repositoryOf(run)).corrections
  try {
    const bytes = await context.ports.drive.read(path, { maxBytes: mostBytes, signal })
    if (bytes === null) return []
    const { heldCorrections } = await import('./corrections-of-run.js')
    return await heldCorrections(context, run, bytes, signal)
  } catch (error) {
    if (!isHandoffError(error) || signal.aborted) throw error
    return []
  }
}
