import { type HandoffError, isHandoffError } from '../../src/handoff/domain/errors.js'

/** The error of ours that the work must end with. */
export async function refusal(work: Promise<unknown>): Promise<HandoffError> {
  const error = await work.then(
    (value) => new Error(`It was not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (isHandoffError(error)) return error
  throw error
}
