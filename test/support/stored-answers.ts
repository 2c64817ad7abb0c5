// Answers as the answer store keeps them, made by hand.
import type { LocalDrive } from '../../src/emulators/drive9/server/main.js'
import type { Citation, CompletedAnswer } from '../../src/handoff/domain/answer.js'
import { encodeAnswer } from '../../src/handoff/domain/answer.js'
import type { Layout, RunId } from '../../src/handoff/domain/run.js'
import { answerRecord } from './records.js'

interface Place {
  drive: Pick<LocalDrive, 'write'>
  place: Pick<Layout, 'run'>
}

let count = 0

export const makeCitation = (path: string, from: number, to = from): Citation => ({ path, from, to, verified: true })

/** An answer in the answer store of a run. */
export function storeAnswer(there: Place, run: RunId, citations: Citation[], id?: string): CompletedAnswer {
  count += 1
  const record = answerRecord({
    id: id ?? String(count).padStart(32, '0'),
    run,
    question: `Question ${count}?`,
    citations,
  })
  there.drive.write(`${there.place.run(run)}/analysis/qa/${record.id}.json`, encodeAnswer(record))
  return record
}

/** `analysis/files.json` of a commit whose files are these, by path the digit of their blob. */
export function tableOf(commit: string, blobs: Record<string, number>): Record<string, string> {
  const files = Object.entries(blobs).map(([path, digit]) => {
    return { path, mode: '100644', blob: String(digit).repeat(40), size: 1, kind: 'source', state: 'read' }
  })
  return { 'analysis/files.json': JSON.stringify({ version: 1, commit, trees: {}, files, secrets: [] }) }
}
