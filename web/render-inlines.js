// The words of a line of Markdown: code, emphasis, links, and the places an answer rests on.
//
// `options.places` is a map from the text between brackets (`src/a.ts:10-20`) to a function that makes the node shown for it: the checked
// citations. `options.pending` makes the node for what only looks like one, while an answer is still being written. `options.mention(path,
// from, to)` may make a node for a bare `path:10-20`, and `options.link(url)` says where a link may go.
import { element, outsideLink } from './dom.js'

const deepest = 6
const marks = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
]

export function inlines(text, options, depth = 0) {
  const writer = makeWriter(options)
  const missing = new Set()
  let at = 0
  while (at < text.length) {
    const piece = special(text, at, options, depth, missing)
    if (piece?.node) writer.node(piece.node)
    else if (piece) writer.text(piece.text)
    else writer.text(text[at])
    at = piece ? piece.next : at + 1
  }
  return writer.end()
}

/** Collects plain text until something else comes, and then looks for places in it. */
function makeWriter(options) {
  const nodes = []
  let pending = ''
  const flush = () => {
    for (const node of pending === '' ? [] : mentions(pending, options)) nodes.push(node)
    pending = ''
  }
  return {
    text(more) {
      pending += more
    },
    node(node) {
      flush()
      nodes.push(node)
    },
    end() {
      flush()
      return nodes
    },
  }
}

function special(text, at, options, depth, missing) {
  switch (text[at]) {
    case '\\':
      return /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '') ? { text: text[at + 1], next: at + 2 } : undefined
    case '`':
      return readCode(text, at, options, missing)
    case '!':
      return text[at + 1] === '[' ? readLink(text, at + 1, options, depth, true) : undefined
    case '[':
      return readPlace(text, at, options) ?? readLink(text, at, options, depth, false)
    case '*':
    case '_':
    case '~':
      return readEmphasis(text, at, options, depth, missing)
    default:
      return undefined
  }
}

function readCode(text, at, options, missing) {
  let width = 1
  while (text[at + width] === '`') width += 1
  const ticks = '`'.repeat(width)
  const run = { text: ticks, next: at + width }
  if (missing.has(ticks)) return run
  let end = text.indexOf(ticks, at + width)
  while (end >= 0 && (text[end + width] === '`' || text[end - 1] === '`')) {
    let past = end
    while (text[past] === '`') past += 1
    end = text.indexOf(ticks, past)
  }
  if (end < 0) {
    missing.add(ticks)
    return run
  }
  const code = text.slice(at + width, end).replaceAll('\n', ' ')
  const plain = /^ .*[^ ].* $/.test(code) ? code.slice(1, -1) : code
  const place = options.mention && placeIn(plain)
  const shown = (place && options.mention(place.path, place.from, place.to, plain)) || plain
  return { node: element('code', {}, shown), next: end + width }
}

/** A checked citation, or, while the answer is being written, what will be one. */
function readPlace(text, at, options) {
  for (const [label, make] of options.places ?? [])
    if (text.startsWith(`${label}]`, at + 1) && text[at + label.length + 2] !== '(')
      return { node: make(), next: at + label.length + 2 }
  if (!options.pending) return undefined
  const label = /^\[([^[\]\n]{1,300}:\d{1,7}(?:-\d{1,7})?)\](?!\()/.exec(text.slice(at, at + 330))?.[1]
  return label === undefined ? undefined : { node: options.pending(label), next: at + label.length + 2 }
}

/** Links to allowed places are links; other links, and images, are their words. */
function readLink(text, at, options, depth, image) {
  const parts = /^\[([^[\]]{0,500})\]\(\s{0,5}<?([^\s<>()]{0,2000})>?(?:\s{1,5}"[^"\n]{0,300}")?\s{0,5}\)/.exec(
    text.slice(at, at + 2_900),
  )
  if (!parts || depth >= deepest) return undefined
  const [whole, label, address] = parts
  const url = image ? undefined : options.link?.(address)
  const words = inlines(label, { ...options, link: undefined }, depth + 1)
  const node = url === undefined ? element('span', {}, words) : outsideLink(url, {}, words)
  return { node, next: at + whole.length }
}

function readEmphasis(text, at, options, depth, missing) {
  const mark = marks.find(([sign]) => text.startsWith(sign, at))
  if (!mark || depth >= deepest) return undefined
  const [sign, name] = mark
  const start = at + sign.length
  const inWord = sign[0] === '_' && /[\p{L}\p{N}]/u.test(text[at - 1] ?? '')
  if (inWord || /\s|^$/.test(text[start] ?? '') || missing.has(sign)) return { text: sign, next: start }
  const end = closingMark(text, start, sign)
  if (end < 0) {
    missing.add(sign)
    return { text: sign, next: start }
  }
  return { node: element(name, {}, inlines(text.slice(start, end), options, depth + 1)), next: end + sign.length }
}

function closingMark(text, start, sign) {
  for (let end = text.indexOf(sign, start + 1); end >= 0; end = text.indexOf(sign, end + 1)) {
    const longer = sign.length === 1 && (text[end + 1] === sign || text[end - 1] === sign)
    const inWord = sign[0] === '_' && /[\p{L}\p{N}]/u.test(text[end + sign.length] ?? '')
    if (!longer && !inWord && !/\s|\\/.test(text[end - 1])) return end
  }
  return -1
}

/** `src/a.ts:10-20` in plain words. Read word by word, so that a long line costs what it is long. */
function mentions(text, options) {
  if (!options.mention || !/:\d/.test(text)) return [text]
  return text.split(/([\s()[\]<>,;"'“”]+)/).flatMap((word) => {
    const place = placeIn(word)
    const node = place && options.mention(place.path, place.from, place.to, place.text)
    return node ? [node, word.slice(place.text.length)] : [word]
  })
}

function placeIn(word) {
  if (word.length > 400) return undefined
  const found = /^([^:\s]{1,300}):(\d{1,7})(?:-(\d{1,7}))?(?=[.!?:]*$)/.exec(word)
  if (!found || !/[./]/.test(found[1]) || found[1].startsWith('/') || /^\w+$/.test(found[1])) return undefined
  const from = Number(found[2])
  return { path: found[1], from, to: Number(found[3] ?? from), text: found[0] }
}
