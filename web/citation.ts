// A citation in an answer: a small number that opens the lines that it names. While the pointer or the focus is on it, their code is shown beside it.
import type { Answer, Citation } from './api-types.js'
import { placeOf } from './citation-place.js'
import { peekAt } from './citation-preview.js'
import { findLines, followCitation } from './code-panel.js'
import { button, element } from './dom.js'
import { plainName } from './format.js'
import type { RunView } from './run-view.js'

const spokenPlace = (citation: Citation, number: number) => `Source ${number}, ${placeOf(citation)}`

export function citationButton(citation: Citation, answer: Answer, view: RunView): HTMLButtonElement {
  const number = answer.citations.indexOf(citation) + 1
  const made = button(
    String(number),
    { class: 'place', 'aria-label': spokenPlace(citation, number), 'data-label': citation.label },
    () => followCitation(citation, answer, view),
  )
  peekAt(made, citation, answer)
  return made
}

/** An entry of the list of sources: the place, and the first line of its code. */
export function sourceButton(citation: Citation, answer: Answer, view: RunView): HTMLButtonElement {
  const number = answer.citations.indexOf(citation) + 1
  const found = findLines(citation, answer)
  const first = found?.lines.slice(citation.from - found.from).find((line) => /\w/.test(line))
  const made = button('', { class: 'entry source', 'data-label': citation.label }, () =>
    followCitation(citation, answer, view),
  )
  made.append(
    element('b', {}, number),
    element('span', {}, placeOf(citation)),
    ...(first ? [element('code', {}, plainName(first.trim()))] : []),
  )
  return made
}
