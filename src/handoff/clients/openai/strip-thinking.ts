// Some models write their thinking into the reply, between tags at its beginning. The filter removes it.

const open = '<think>'
const close = '</think>'

export interface ThinkingFilter {
  /** The text that may be shown after this piece. */
  visible(piece: string): string
  /** Text held back at the end of the stream because it looked like the beginning of a tag. */
  rest(): string
}

export function createThinkingFilter(): ThinkingFilter {
  let held = ''
  let state: 'undecided' | 'thinking' | 'text' = 'undecided'
  return {
    visible(piece) {
      if (state === 'text') return piece
      held += piece
      const start = held.trimStart()
      if (state === 'undecided' && start.startsWith(open)) state = 'thinking'
      if (state === 'undecided' && !open.startsWith(start)) return showText(held)
      const end = state === 'thinking' ? held.indexOf(close) : -1
      // Thinking may be long: only the possible beginning of the closing tag is kept.
      if (end < 0 && state === 'thinking') held = open + held.slice(open.length).slice(-close.length)
      if (end < 0) return ''
      const after = held.slice(end + close.length).trimStart()
      if (after === '') return ''
      return showText(after)
    },
    rest: () => (state === 'undecided' ? held : ''),
  }

  function showText(text: string): string {
    state = 'text'
    held = ''
    return text
  }
}
