// Filters a streamed answer for display: shows a citation once it is complete, and hides requests for more code, thinking and an outer fence.
// The output is not verified and no safe Markdown, so it must be shown as plain text.

import { citationLabel } from '../citations/citation-label.js'
import { citationEnd, readCitation } from '../citations/parse-citations.js'
import { afterNotFound, lastMoreLine, longestPreface, mayBecomeKeyword, parseReply } from './parse-reply.js'

interface StreamFilter {
  /** Takes a piece of the reply; returns the text that can be shown now, often none. */
  push(piece: string): string
  /** Ends the reply; returns the rest of the text. */
  end(): string
  /**
   * True as soon as the reply cannot be a wish to see more; a short reply is known to be an answer only at its end. One case escapes: thoughts
   * whose opening tag the service swallowed look like an answer until their closing tag comes.
   */
  answering(): boolean
}

interface State {
  whole: string
  /** What came and is neither shown nor dropped. */
  pending: string
  started: boolean
  /** Thoughts before the reply have ended, or there cannot be any. */
  awake: boolean
  atLineStart: boolean
  /** Lines begun that are not empty, and how far the last of them is. */
  lines: number
  column: number
  /** A fence stands around everything. */
  wrapped: boolean
  asksForMore: boolean
  answering: boolean
  over: boolean
}

export function streamFilter(): StreamFilter {
  const state: State = {
    whole: '',
    pending: '',
    started: false,
    awake: false,
    atLineStart: true,
    lines: 0,
    column: 0,
    wrapped: false,
    asksForMore: false,
    answering: false,
    over: false,
  }
  return {
    push: (piece) => {
      const plain = piece.replaceAll('\r', '')
      state.whole += plain
      state.pending += plain
      return advance(state)
    },
    end: () => {
      state.over = true
      // What looked like a wish for more and is prose after all was held back; now it may go.
      state.asksForMore = parseReply(state.whole).kind === 'more'
      const shown = advance(state)
      state.answering = !state.asksForMore
      return shown
    },
    answering: () => state.answering,
  }
}

function advance(state: State): string {
  let shown = ''
  while (state.pending !== '' && !state.asksForMore) {
    const piece = step(state)
    if (piece === undefined) break
    shown += piece
  }
  return shown
}

/** What can be shown next, perhaps nothing yet; undefined when more has to come first. */
function step(state: State): string | undefined {
  if (!state.started) return start(state) ? '' : undefined
  if (state.atLineStart) return startLine(state) ? '' : undefined
  state.answering ||= state.lines >= lastMoreLine || state.column > longestPreface
  if (state.pending[0] === '[') return readBrackets(state)
  state.atLineStart = state.pending[0] === '\n'
  if (state.atLineStart) return take(state, 1)
  const next = state.pending.search(/[[\n]/)
  return take(state, next < 0 ? state.pending.length : next)
}

function take(state: State, length: number): string {
  const shown = state.pending.slice(0, length)
  state.pending = state.pending.slice(length)
  state.column += length
  return shown
}

/** Waits until it is clear whether a fence stands around everything. */
function start(state: State): boolean {
  const text = state.pending.replace(/^[\ufeff\s]+/, '')
  if (!state.over && (text === '' || /^[`~]+\s?\w*[ \t]*$/.test(text))) return false
  const fence = /^(?:`{3,}|~{3,})[ \t]*(?:markdown|md|text|plaintext|txt)[ \t]*(?:\n|$)/i.exec(text)
  state.wrapped = fence !== null
  state.pending = text.slice(fence?.[0].length ?? 0)
  state.started = true
  return true
}

/** Decides what becomes of a line as soon as its beginning tells. False when it has to wait. */
function startLine(state: State): boolean {
  const end = state.pending.indexOf('\n')
  const line = end < 0 ? state.pending : state.pending.slice(0, end)
  const whole = end >= 0 || state.over
  if (line.trim() === '') return startEmptyLine(state, line, whole)
  if (!state.awake && '</thinking>'.startsWith(line.trim().slice(0, -1).toLowerCase()) && line.trim().startsWith('<')) {
    if (!whole) return false
    if (/^<\/think(?:ing)?>$/i.test(line.trim())) return wakeUp(state, line)
  }
  if (state.wrapped && isLastFence(state)) return dropLastFence(state)
  if (state.lines < lastMoreLine && !state.answering && !state.over && waitsForMore(state, line, whole)) return false
  const rest = state.lines === 0 ? afterNotFound(line) : undefined
  if (rest !== undefined) state.pending = state.pending.slice(line.length - rest.length)
  state.lines++
  state.column = 0
  state.atLineStart = false
  return true
}

/** Some services swallow the opening tag of thoughts: at the closing one the reply begins anew. */
function wakeUp(state: State, line: string): boolean {
  state.pending = state.pending.slice(line.length + 1)
  Object.assign(state, { awake: true, started: false, lines: 0, wrapped: false, answering: false })
  return true
}

/** True when the line asks for more, or may still come to do so. Behind a fence the next line tells. */
function waitsForMore(state: State, line: string, whole: boolean): boolean {
  const fenced = state.lines === 0 && /^\s*(?:`{3,}|~{3,})\s*$/.test(line)
  const content = fenced ? state.pending.slice(line.length + 1).replace(/^\s+/, '') : line
  const [first = ''] = content.split('\n', 1)
  if ((fenced ? !content.includes('\n') : !whole) && mayBecomeKeyword(first)) return true
  state.asksForMore = parseReply(first).kind === 'more'
  return state.asksForMore
}

/** Empty lines before the first word are dropped. */
function startEmptyLine(state: State, line: string, whole: boolean): boolean {
  if (!whole && line.length < longestPreface) return false
  if (state.lines > 0 || !whole) state.atLineStart = false
  else state.pending = state.pending.slice(line.length + 1)
  return true
}

const isLastFence = (state: State) => /^[`~]{1,20}\s*$/.test(state.pending)

function dropLastFence(state: State): boolean {
  if (state.over) state.pending = ''
  return state.over
}

function readBrackets(state: State): string | undefined {
  const text = state.pending
  if (text.length === 1 && !state.over) return undefined
  if (text[1] !== '[') return take(state, 1)
  const end = citationEnd(text, 0)
  if (end === undefined) {
    // A reply that ends in the middle of a citation ends before it.
    if (state.over) state.pending = ''
    return state.over ? '' : undefined
  }
  const hit = end < 0 ? null : readCitation(text.slice(0, end), 0)
  if (!hit) return take(state, 2)
  take(state, end)
  return hit.citations.map((citation) => `[${citationLabel(citation)}]`).join(' ')
}
