// What a paragraph is made of once it is read, and which stars and underscores in it are emphasis.

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'open'; mark: string }
  | { kind: 'close'; mark: string }
  | { kind: 'link'; url: string }
  | { kind: 'link-end' }
  /** A checked place, by its label; with the address to write, or null for none. */
  | { kind: 'citation'; label: string; url: string | null }

/** Stars or underscores whose meaning depends on what comes later. */
interface DelimiterRun {
  kind: 'run'
  mark: string
  opens: boolean
  closes: boolean
}

export type Piece = Inline | DelimiterRun

/** Openings that may wait for their closing; the oldest are given up first, so that many of them cost nothing. */
const mostOpen = 20

/** The run that begins at this place. It opens or closes by what stands beside it, as in CommonMark. */
export function delimiterRun(text: string, at: number): DelimiterRun {
  const sign = text[at]!
  let end = at
  while (text[end] === sign) end++
  const before = kindOf(text[at - 1])
  const after = kindOf(text[end])
  const left = after !== 'space' && (after !== 'sign' || before !== 'letter')
  const right = before !== 'space' && (before !== 'sign' || after !== 'letter')
  const short = end - at <= 3
  const opens = short && left && (sign === '*' || !right || before === 'sign')
  const closes = short && right && (sign === '*' || !left || after === 'sign')
  return { kind: 'run', mark: text.slice(at, end), opens, closes }
}

function kindOf(character: string | undefined): 'space' | 'sign' | 'letter' {
  if (character === undefined || /\s/.test(character)) return 'space'
  return /[\p{P}\p{S}]/u.test(character) ? 'sign' : 'letter'
}

/** Each closing run finds the nearest opening one of the same sign and length; what stays alone is text. */
export function pairDelimiters(pieces: Piece[]): Inline[] {
  const result = pieces.map((piece): Inline => (piece.kind === 'run' ? { kind: 'text', text: piece.mark } : piece))
  const open: { index: number; mark: string }[] = []
  pieces.forEach((piece, index) => {
    if (piece.kind !== 'run') return
    const depth = piece.closes ? open.findLastIndex((candidate) => candidate.mark === piece.mark) : -1
    if (depth >= 0) {
      result[open[depth]!.index] = { kind: 'open', mark: piece.mark }
      result[index] = { kind: 'close', mark: piece.mark }
      open.length = depth
    } else if (piece.opens) {
      open.push({ index, mark: piece.mark })
      if (open.length > mostOpen) open.shift()
    }
  })
  return result
}

export function mergeText(inlines: Inline[]): Inline[] {
  const result: Inline[] = []
  for (const inline of inlines) {
    const last = result.at(-1)
    if (inline.kind === 'text' && last?.kind === 'text') result[result.length - 1] = join(last, inline)
    else result.push(inline)
  }
  return result
}

const join = (first: { text: string }, second: { text: string }): Inline => ({
  kind: 'text',
  text: first.text + second.text,
})

/**
 * Leaves out emphasis that a renderer would not see as such: around nothing, beside a space, between letters and signs. What stood around it
 * becomes one text, so that nothing can hide in two halves.
 */
export function withoutIdleMarks(inlines: Inline[]): Inline[] {
  const idle = new Set<number>()
  const open: number[] = []
  inlines.forEach((inline, index) => {
    if (inline.kind === 'open') open.push(index)
    if (inline.kind !== 'close') return
    const from = open.pop()!
    if (standsWell(inlines, idle, from, 1) && standsWell(inlines, idle, index, -1)) return
    idle.add(from).add(index)
  })
  return mergeText(inlines.filter((_, index) => !idle.has(index)))
}

/** `inward` is 1 for an opening mark and -1 for a closing one. Two marks of one sign side by side would be read as one run. */
function standsWell(inlines: Inline[], idle: Set<number>, at: number, inward: 1 | -1): boolean {
  const inside = neighbour(inlines, idle, at, inward)
  const outside = neighbour(inlines, idle, at, inward === 1 ? -1 : 1)
  if (isMark(outside) && outside.mark[0] === (inlines[at] as { mark: string }).mark[0]) return false
  if (isMark(inside) && inside.kind !== inlines[at]!.kind) return false
  const edge = edgeOf(inside, inward)
  return edge !== 'space' && (edge !== 'sign' || isMark(inside) || edgeOf(outside, inward === 1 ? -1 : 1) !== 'letter')
}

type Mark = Extract<Inline, { mark: string }>

const isMark = (inline: Inline | undefined): inline is Mark => inline?.kind === 'open' || inline?.kind === 'close'

function neighbour(inlines: Inline[], idle: Set<number>, at: number, step: 1 | -1): Inline | undefined {
  let index = at + step
  while (idle.has(index)) index += step
  return inlines[index]
}

/** What kind of character a neighbour shows: its first one in one direction, its last one in the other. */
function edgeOf(inline: Inline | undefined, step: 1 | -1): 'space' | 'sign' | 'letter' {
  if (inline === undefined) return 'space'
  return inline.kind === 'text' ? kindOf(step === 1 ? inline.text[0] : inline.text.at(-1)) : 'sign'
}
