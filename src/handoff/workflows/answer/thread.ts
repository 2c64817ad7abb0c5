// The questions that come before one. A thread is a name that its questions share, or the id of the answer before: then the answers form a chain,
// and the same conversation finds its stored answers again.
import type { AppContext } from '../../context.js'
import type { AnswerRecord, CompletedAnswer, Question } from '../../domain/answer.js'
import { readAnswer } from '../../store/run-store.js'
import { compareText } from '../../util/text.js'
import type { Said } from './ask-model.js'

/** Earlier answers that the model is shown. */
const mostShown = 3

/** The earlier answers of a thread, the oldest first. `recent` are answers of the run that were read already. */
export async function readThread(
  { thread }: Question,
  recent: readonly CompletedAnswer[],
  directory: string,
  { ports }: AppContext,
  signal: AbortSignal,
): Promise<Said[]> {
  if (thread === undefined) return []
  if (!/^[0-9a-f]{32}$/.test(thread))
    return recent
      .filter((one) => one.thread === thread)
      .sort(byTime)
      .map(said)
  const read = async (id: string) =>
    recent.find((one) => one.id === id) ?? (await readAnswer({ drive: ports.drive, directory, id }, signal))
  const chain: Said[] = []
  let next: string | undefined = thread
  while (next !== undefined && chain.length < mostShown) {
    const record: AnswerRecord | undefined = await read(next)
    if (record?.status !== 'done') break
    chain.unshift(said(record))
    next = record.thread
  }
  return chain
}

const byTime = (a: CompletedAnswer, b: CompletedAnswer) => compareText(a.acceptedAt, b.acceptedAt)
const said = ({ question, text, searched }: CompletedAnswer): Said => ({ question, text, searched })
