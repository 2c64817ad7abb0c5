// The records of a run with the least that they may hold; a test names what it is about.
import type { CompletedAnswer } from '../../src/handoff/domain/answer.js'
import type { Handoff } from '../../src/handoff/domain/handoff-record.js'
import { makeRunId, shaOf } from '../../src/handoff/domain/run.js'

export const handoffRecord = (fields: Pick<Handoff, 'run'> & Partial<Handoff>): Handoff => ({
  version: 1,
  host: 'github.com',
  repository: 'octo/tools',
  commit: shaOf(fields.run),
  form: 'tar',
  artifacts: [],
  survey: { files: 1, bytes: 1, read: 1, cut: 0, skipped: 0, reasons: {}, kinds: {} },
  secrets: 0,
  claims: { checked: 0, repaired: 0, removed: 0 },
  reusedPercent: 0,
  model: { name: 'x', host: 'x' },
  usage: { inputTokens: 0, outputTokens: 0 },
  durations: {},
  sandbox: { id: 'x', template: 'x' },
  notices: [],
  sealedAt: '2026-11-19T10:00:00Z',
  ...fields,
})

export const answerRecord = ({
  run = makeRunId('b'.repeat(40), '1'),
  ...fields
}: Partial<CompletedAnswer>): CompletedAnswer => ({
  version: 1,
  id: 'a'.repeat(32),
  run,
  commit: shaOf(run),
  question: 'Why?',
  model: 'm',
  acceptedAt: '2026-11-18T10:00:00.000Z',
  status: 'done',
  completedAt: '2026-11-18T10:00:01.000Z',
  text: 'So it is.',
  citations: [],
  unsupported: 0,
  truncated: false,
  unanswered: false,
  excerpts: [],
  searched: [],
  rounds: 1,
  usage: { inputTokens: 1, outputTokens: 1 },
  seconds: {},
  ...fields,
})
