// The JSON views of runs and answers.

import type * as Product from '../../handoff/index.js'
import { answerBlocks, answerData, citationLabel } from '../../handoff/index-for-stored-answers.js'
import { jsonResponse } from './json.js'

export interface Seen {
  handoff: Product.Handoff
  behind?: { head: string } | undefined
}

interface Viewer {
  serverUrl: string
}

export function addressOf(handoff: Pick<Product.Handoff, 'run' | 'repository'>, answer?: string): string {
  const part = answer === undefined ? '' : `/answers/${answer}`
  return `/api/runs/${handoff.run}${part}?repository=${encodeURIComponent(handoff.repository)}`
}

export function placeOf(viewer: Viewer, handoff: Product.Handoff): Product.AnswerPlace {
  return { host: handoff.host, repository: handoff.repository, serverUrl: viewer.serverUrl, permalinks: 'github' }
}

export function runView(handoff: Product.Handoff) {
  const { run, repository, commit, ref, sealedAt, model, survey, partial } = handoff
  return {
    run,
    repository,
    commit,
    ...(ref === undefined ? {} : { ref }),
    sealedAt,
    model: model.name,
    files: survey.files,
    ...(partial === undefined ? {} : { partial }),
    self: addressOf(handoff),
  }
}

/** With the comment in which it was posted. */
export interface Answer extends Product.AnswerResult {
  comment?: { url: string }
}

/** An answer in a list: without the lines that it cites, and without its words as nodes, whose making takes as long as all else of a stored answer. */
export function listedAnswerView(viewer: Viewer, { run, record, stale, corrections: _said, ...more }: Answer) {
  const { handoff, behind } = run
  const place = placeOf(viewer, handoff)
  return {
    status: 'done' as const,
    repository: handoff.repository,
    ...answerData(record, place),
    seconds: record.seconds,
    ...more,
    ...(behind === undefined ? {} : { behind }),
    ...(stale === undefined ? {} : { stale: staleView(stale) }),
    self: addressOf(handoff, record.id),
  }
}

export async function answerView(viewer: Viewer, answer: Answer) {
  const { run, record } = answer
  const place = placeOf(viewer, run.handoff)
  const { text, ...said } = await withCorrections(record.text, answer, place)
  return {
    ...listedAnswerView(viewer, answer),
    ...said,
    blocks: answerBlocks(record, place, text),
    code: record.cited ?? [],
  }
}

/** For clients that show one text: corrections stand behind their sentences, and below it is what became of the lines. */
export async function answerTextView(viewer: Viewer, answer: Answer) {
  const { markdown, ...view } = listedAnswerView(viewer, answer)
  const { text, ...said } = await withCorrections(markdown, answer, placeOf(viewer, answer.run.handoff))
  return { ...view, ...said, content: view.stale === undefined ? text : `${text}\n\n${view.stale.told}` }
}

/** The text with what people said about it, and that as data. Most answers have no corrections, so what shows them is loaded where there are some. */
async function withCorrections(
  text: string,
  { corrections = [] }: Answer,
  place: Product.AnswerPlace,
): Promise<{ text: string; corrections?: Product.CorrectionData[] }> {
  if (corrections.length === 0) return { text }
  const { correctionData, showCorrections } = await import('../../handoff/index.js')
  return {
    text: showCorrections(text, corrections, place),
    corrections: corrections.map((one) => correctionData(one, place)),
  }
}

/** `told` is a sentence for people. Paths in it are untrusted text. */
function staleView({ head, valid, precision, text, citations }: Product.AnswerStaleness) {
  const judged = citations.map((one) => ({ ...one, label: citationLabel(one) }))
  return { head, valid, precision, told: text, citations: judged }
}

interface PendingQuestion {
  id: string
  question: string
  acceptedAt: string
}

export function pendingView(seen: Seen, pending: PendingQuestion, status: 'queued' | 'running') {
  const { handoff } = seen
  const { id, question, acceptedAt } = pending
  const { repository, run, commit } = handoff
  return { status, id, repository, run, commit, question, acceptedAt, self: addressOf(handoff, id) }
}

export function failedView(seen: Seen, record: Extract<Product.AnswerRecord, { status: 'failed' }>) {
  return {
    ...pendingView(seen, record, 'running'),
    status: 'failed' as const,
    completedAt: record.completedAt,
    error: record.error,
  }
}

export const pollSeconds = 2

/** 202 with the address of the later answer; `preferred` when the caller asked for it. */
export function pendingResponse(
  seen: Seen,
  pending: PendingQuestion,
  status: 'queued' | 'running',
  preferred: boolean,
): Response {
  const view = pendingView(seen, pending, status)
  return jsonResponse(202, view, {
    location: view.self,
    'retry-after': String(pollSeconds),
    ...(preferred ? { 'preference-applied': 'respond-async' } : {}),
  })
}
