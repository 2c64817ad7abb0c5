// A citation in an answer: a small button that opens the lines it names.
import { element } from './dom.js'
import { plainName } from './format.js'

/** `follow(citation)` opens the lines. In the text people see the file's own name; `whole` shows its folder too. */
export function citationButton(citation, follow, whole = false) {
  const { folder, name } = parts(citation)
  const shown = whole ? folder + name : name
  const spoken = `Source ${folder}${name}`
  const on = { click: () => follow(citation) }
  return element('button', { type: 'button', class: 'place', title: folder + name, 'aria-label': spoken, on }, shown)
}

/** What stands where a citation will be, while the answer is being written and nothing is checked. */
export function pendingCitation(label) {
  return element('span', { class: 'place pending' }, plainName(label.slice(label.lastIndexOf('/') + 1)))
}

export function lineRange({ from, to }) {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`
}

function parts({ path, from, to }) {
  const plain = plainName(path)
  const cut = plain.lastIndexOf('/') + 1
  return { folder: plain.slice(0, cut), name: `${plain.slice(cut)}:${from === to ? from : `${from}-${to}`}` }
}
