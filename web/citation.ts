// A citation in an answer: a button that opens the lines that it names.
import type { Citation } from './api-types.js'
import { button } from './dom.js'
import { plainName } from './format.js'

/** The text of an answer shows the file's name; `whole` shows its folder too. */
export function citationButton(
  citation: Citation,
  open: (citation: Citation) => void,
  whole = false,
): HTMLButtonElement {
  const { folder, name } = splitPath(citation)
  const spoken = `Source ${folder}${name}`
  const properties = { class: 'place', title: folder + name, 'aria-label': spoken }
  return button(whole ? folder + name : name, properties, () => open(citation))
}

export function lineRange({ from, to }: Citation): string {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`
}

function splitPath({ path, from, to }: Citation): { folder: string; name: string } {
  const plain = plainName(path)
  const cut = plain.lastIndexOf('/') + 1
  return { folder: plain.slice(0, cut), name: `${plain.slice(cut)}:${from === to ? from : `${from}-${to}`}` }
}
