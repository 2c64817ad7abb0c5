// Takes a question back that is being answered: its sandbox ends, and its record says so.
import type { ReadContext } from '../../context.js'
import type { ClaimedAnswer } from '../../domain/answer.js'
import { HandoffError } from '../../domain/errors.js'
import { failAnswer } from '../../store/answer-store.js'
import { readAnswer } from '../../store/run-store.js'
import { failedRecord } from './answer-question.js'
import { endLease } from './lease.js'
import type { ChosenRun } from './resolve-run.js'

/** Only the caller that asked may take a question back. Rejects with `conflict` where it has ended already. */
export async function withdrawQuestion(
  { run, id, caller }: { run: ChosenRun; id: string; caller: string },
  { ports }: ReadContext,
  signal: AbortSignal,
): Promise<void> {
  const place = { drive: ports.drive, directory: run.directory, id }
  const record = await readAnswer(place, signal)
  if (record === undefined) throw new HandoffError('not-found', `Run ${run.handoff.run} has no answer ${id}.`)
  if (record.asker !== caller) throw new HandoffError('forbidden', 'Another caller asked this question.')
  const withdrawn = new HandoffError('withdrawn', 'The question was taken back by its caller.', {
    next: 'Ask again if you want an answer after all.',
  })
  const failedOf = (found: ClaimedAnswer) => failedRecord(found, withdrawn, ports.clock.now())
  const stands = await failAnswer(place, failedOf, () => true, signal)
  if (stands?.status !== 'failed') throw new HandoffError('conflict', 'The question is answered already.')
  endLease(place, withdrawn)
}
