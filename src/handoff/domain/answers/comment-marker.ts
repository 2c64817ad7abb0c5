// The hidden first lines by which handoff finds its own comments and files. Every marker is written and read here.
//
// A marker counts only at the start of a body and together with the author: anyone can paste one, and a bot account may be shared with other
// workflows that repeat what people write.

const start = '<!-- handoff:'

/** How each comment of handoff starts, whatever its kind and version. */
export const anyMarker = start

/** The comment with the summary of a pull request. */
export const summaryMarker = `${start}summary v=1 -->`

// ── a question's answer ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export type ConversationState = 'working' | 'done' | 'failed' | 'cancelled'

/** Names the answer that a comment shows. The marker holds it: the text below is partly the model's. */
export interface AnswerName {
  run: string
  id: string
}

interface AskMarker {
  /** The id of the comment with the question. */
  question: number
  /** 1; answers of earlier versions continued in further comments. */
  part: number
  state: ConversationState
  /** With `done`. Absent in comments of earlier versions. */
  answer?: AnswerName
}

/** The start of every marker of this question. */
export const askPrefix = (question: number): string => `${start}ask v=1 comment=${question} `

/** The start of the marker of its answer. */
export const answerPrefix = (question: number): string => `${askPrefix(question)}part=1 `

export function writeAskMarker({ question, state, answer }: Omit<AskMarker, 'part'>): string {
  return `${answerPrefix(question)}state=${state}${answer ? ` run=${answer.run} id=${answer.id}` : ''} -->`
}

const askPattern =
  /^<!-- handoff:ask v=1 comment=([1-9]\d{0,15}) part=([1-9]\d{0,3}) state=(working|done|failed|cancelled)(?: run=([0-9a-f]{40}-[a-z0-9-]{1,64}) id=([0-9a-f]{32}))?(?: [^\n]*)?-->/

export function readAskMarker(body: string): AskMarker | null {
  const match = askPattern.exec(body)
  if (!match) return null
  const [, question, part, state, run, id] = match
  const answer = run === undefined || id === undefined ? {} : { answer: { run, id } }
  return { question: Number(question), part: Number(part), state: state as ConversationState, ...answer }
}

// ── an answer without a question comment ──────────────────────────────────────────────────────────────────────────────────────────

export function writeAnswerMarker({ id, run }: AnswerName): string {
  return `${start}answer v=1 id=${id} part=1 run=${run} -->`
}

const answerPattern = /^<!-- handoff:answer v=1 id=([0-9a-f]{32}) part=1 run=([0-9a-f]{40}-[a-z0-9-]{1,64}) -->/

/** The answer that the comment of a finished answer shows. */
export function readShownAnswer(body: string): AnswerName | undefined {
  const asked = readAskMarker(body)
  if (asked) return asked.part === 1 && asked.state === 'done' ? asked.answer : undefined
  const [, id, run] = answerPattern.exec(body) ?? []
  return id === undefined || run === undefined ? undefined : { id, run }
}

// ── a stale answer ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const writeStaleMarker = (head: string): string => `${start}stale v=1 head=${head} -->`

/** The marker's line, the warning below it, and the empty line after that. The first group is the head. */
export const stalePattern = /^<!-- handoff:stale v=1 head=([0-9a-f]{40}) -->\n[^\n]*\n\n/

// ── corrections ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Before and behind each correction, and a block of them, that a comment shows. */
export const correctionStart = `${start}correction v=1 -->`
export const correctionEnd = '<!-- /handoff:correction -->'

/** The reply to a comment that begins with `/correct`. */
export const correctionReplyMarker = (comment: number): string => `${start}correct v=1 comment=${comment} -->`

// ── qa-response.md ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const writeLatestMarker = (acceptedAt: string): string => `${start}latest accepted=${acceptedAt} -->`

const latestPattern = /^<!-- handoff:latest accepted=(\S+) -->\n/

/** When the answer in `qa-response.md` was accepted. */
export const readLatestMarker = (text: string): string | undefined => latestPattern.exec(text)?.[1]
