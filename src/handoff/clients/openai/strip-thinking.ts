// Some models write their thinking into the reply, between tags at its beginning. The filter removes it.

const openingTags = ['<think>', '<thinking>', '<reasoning>']

interface ThinkingFilter {
  /** The text that may be shown after this piece. */
  visible(piece: string): string
  /** Text held back at the end of the stream because it looked like the beginning of a tag. */
  rest(): string
}

export function createThinkingFilter(): ThinkingFilter {
  let held = ''
  /** The tag that ends the thinking; undefined before the opening tag. */
  let close: string | undefined
  let isText = false
  return {
    visible(piece) {
      if (isText) return piece
      held += piece
      const start = held.trimStart().toLowerCase()
      if (close === undefined) {
        const open = openingTags.find((tag) => start.startsWith(tag))
        if (open === undefined) return openingTags.some((tag) => tag.startsWith(start)) ? '' : showText(held)
        close = open.replace('<', '</')
      }
      const end = held.search(new RegExp(close, 'i'))
      if (end < 0) {
        // Thinking may be long: only the possible beginning of the closing tag is kept.
        held = held.slice(-close.length)
        return ''
      }
      const after = held.slice(end + close.length).trimStart()
      held = after === '' ? close : ''
      return after === '' ? '' : showText(after)
    },
    rest: () => (close === undefined && !isText ? held : ''),
  }

  function showText(text: string): string {
    isText = true
    held = ''
    return text
  }
}
