// Some models write their thoughts into the reply, between tags at its beginning. They are no part of it.

const open = '<think>'
const close = '</think>'

export interface ThoughtFilter {
  /** What of the text so far, with this piece, may be shown now. */
  visible(piece: string): string
  /** What was held back when the stream ended: text that only looked like the beginning of a thought. */
  rest(): string
}

export function makeThoughtFilter(): ThoughtFilter {
  let held = ''
  let state: 'unsure' | 'thinking' | 'speaking' = 'unsure'
  return {
    visible(piece) {
      if (state === 'speaking') return piece
      held += piece
      const start = held.trimStart()
      if (state === 'unsure' && start.startsWith(open)) state = 'thinking'
      if (state === 'unsure' && !open.startsWith(start)) return speak(held)
      const end = state === 'thinking' ? held.indexOf(close) : -1
      // A thought may be long: only what may be the beginning of its end is kept.
      if (end < 0 && state === 'thinking') held = open + held.slice(open.length).slice(-close.length)
      if (end < 0) return ''
      const after = held.slice(end + close.length).trimStart()
      if (after === '') return ''
      return speak(after)
    },
    rest: () => (state === 'unsure' ? held : ''),
  }

  function speak(text: string): string {
    state = 'speaking'
    held = ''
    return text
  }
}
