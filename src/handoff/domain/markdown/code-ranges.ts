// Where code stands in Markdown: spans inside a paragraph, fences between them. What is inside is never read as anything else.

/** Where each code span begins and ends. Runs of one length are walked through once, however many do not close. */
export function codeSpansOf(text: string): Map<number, number> {
  const runs = [...text.matchAll(/\\[^\n]|`+/g)]
  const places = new Map<number, number[]>()
  for (const run of text.matchAll(/`+/g)) {
    const list = places.get(run[0].length) ?? []
    list.push(run.index)
    places.set(run[0].length, list)
  }
  const used = new Map<number, number>()
  const spans = new Map<number, number>()
  let from = 0
  for (const run of runs) {
    if (run.index < from || run[0][0] === '\\') continue
    const length = run[0].length
    const list = places.get(length) ?? []
    let next = used.get(length) ?? 0
    while (next < list.length && list[next]! <= run.index) next++
    used.set(length, next)
    if (next === list.length) continue
    from = list[next]! + length
    spans.set(run.index, from)
  }
  return spans
}

/** Which bracket closes which, outside code. */
export function bracketsOf(text: string, spans: Map<number, number>): Map<number, number> {
  const brackets = new Map<number, number>()
  const open: number[] = []
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '\\') index++
    else if (character === '`') index = (spans.get(index) ?? index + 1) - 1
    else if (character === '[') open.push(index)
    else if (character === ']' && open.length > 0) brackets.set(open.pop()!, index)
  }
  return brackets
}

interface CodeRange {
  from: number
  to: number
  kind: 'fence' | 'span'
}

/** Fenced blocks and code spans of a whole text, in order; indented code is not looked for. */
export function codeRanges(markdown: string): CodeRange[] {
  const ranges: CodeRange[] = []
  let words = 0
  let fence: { mark: string; from: number } | undefined
  const readWords = (to: number) => {
    for (const [from, end] of codeSpansOf(markdown.slice(words, to))) {
      ranges.push({ from: words + from, to: words + end, kind: 'span' })
    }
  }
  for (const line of linesOf(markdown)) {
    const mark = /^\s*(?:>\s?)*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}(?=[^`]*$)|~{3,})\s*(\S*)/.exec(line.text)
    if (fence) {
      if (mark !== null && mark[1]!.startsWith(fence.mark) && mark[2] === '') {
        ranges.push({ from: fence.from, to: line.end, kind: 'fence' })
        fence = undefined
        words = line.end
      }
    } else if (mark || line.text.trim() === '') {
      readWords(line.from)
      words = line.end
      if (mark) fence = { mark: mark[1]!, from: line.from }
    }
  }
  if (fence) ranges.push({ from: fence.from, to: markdown.length, kind: 'fence' })
  else readWords(markdown.length)
  return ranges
}

function* linesOf(text: string): Generator<{ text: string; from: number; end: number }> {
  for (let from = 0; from < text.length; ) {
    const next = text.indexOf('\n', from)
    const end = next < 0 ? text.length : next + 1
    yield { text: text.slice(from, next < 0 ? end : next), from, end }
    from = end
  }
}
