// The hidden first line of our own comments: whose question a comment answers, which part of the answer it is, and how far it has come.
//
// A marker is believed only at the very start of a body and only together with the author: anybody can paste one, and a bot account may be
// shared with other workflows that repeat what people write.

export type ConversationState = 'working' | 'done' | 'failed' | 'cancelled'

export interface AskMarker {
  /** The comment that asks. */
  question: number
  /** From 1; over-long answers go on in further comments. */
  part: number
  state: ConversationState
}

/** How every marker of this question starts; with a part, of this part of the answer. */
export function askPrefix(question: number, part?: number): string {
  const start = `<!-- handoff:ask v=1 comment=${question} `
  return part === undefined ? start : `${start}part=${part} `
}

export function writeAskMarker(marker: AskMarker): string {
  return `${askPrefix(marker.question, marker.part)}state=${marker.state} -->`
}

const whole =
  /^<!-- handoff:ask v=1 comment=([1-9]\d{0,15}) part=([1-9]\d{0,3}) state=(working|done|failed|cancelled)(?: [^\n]*)?-->/

export function readAskMarker(body: string): AskMarker | null {
  const match = whole.exec(body)
  if (!match) return null
  return { question: Number(match[1]), part: Number(match[2]), state: match[3] as ConversationState }
}

/** Any comment of ours, of whatever kind or version. */
export function startsWithMarker(body: string): boolean {
  return body.startsWith('<!-- handoff:')
}
