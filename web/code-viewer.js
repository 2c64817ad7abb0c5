// The lines of code an answer rests on, in a sheet beside the page. The browser's own dialog keeps the keyboard inside and gives it back.

import { lineRange } from './citation.js'
import { element, fill, find, outsideLink } from './dom.js'
import { showProblem } from './error-panel.js'
import { plainName, shortCommit } from './format.js'

export function prepareCode() {
  const dialog = find('code')
  find('code-close').addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
}

/** What the sheet was opened for last. Lines that come late for something else are nobody's any more. */
let wanted

/**
 * Opens the sheet for a citation of an answer. `load` fetches lines that the answer did not bring along; `failed(error)` may take an error over by
 * returning true.
 */
export async function openCode(citation, answer, links, { load, failed }) {
  const own = {}
  wanted = own
  const body = find('code-body')
  const title = find('code-title')
  title.textContent = plainName(citation.path)
  const dialog = find('code')
  if (!dialog.open) dialog.showModal()
  title.focus()
  const known = knownLines(citation, answer)
  if (!known) fill(body, element('p', { class: 'loading', role: 'status' }, 'Reading the lines'))
  try {
    const excerpt = known ?? (await load())
    if (wanted === own) show(body, citation, answer, excerpt, links)
  } catch (error) {
    if (failed(error) || wanted !== own || !dialog.open) return
    showProblem(body, error, () => openCode(citation, answer, links, { load, failed }))
  }
}

function knownLines({ path, from, to }, answer) {
  const holds = (excerpt) =>
    excerpt.path === path && excerpt.from <= from && excerpt.from + excerpt.lines.length > Math.min(to, from + 1_000)
  return (
    (answer.code ?? []).find(holds) ??
    (answer.code ?? []).find((excerpt) => excerpt.path === path && within(excerpt, from))
  )
}

const within = (excerpt, line) => excerpt.from <= line && line < excerpt.from + excerpt.lines.length

function show(body, citation, answer, excerpt, links) {
  const { from, to, quote, moved } = citation
  const cited = (number) => number >= from && number <= to
  const rows = excerpt.lines.map((line, index) => row(excerpt.from + index, String(line), cited(excerpt.from + index)))
  const url = links.link(citation.url)
  fill(
    body,
    element(
      'p',
      { class: 'facts' },
      element(
        'span',
        {},
        `${lineRange(citation).replace(/^l/, 'L')} at `,
        element('code', {}, shortCommit(answer.commit)),
      ),
      url && outsideLink(url, {}, 'Open at the git host'),
    ),
    moved && element('p', { class: 'note' }, 'The model was off by some lines; its quote showed where it meant.'),
    element('div', { class: 'lines', tabindex: '0', role: 'region', 'aria-label': 'Code' }, element('ol', {}, ...rows)),
    quote && element('p', { class: 'facts' }, 'The model quoted ', element('q', {}, String(quote))),
  )
  centre(body.querySelector('.lines'), body.querySelector('.cited'))
}

/** Only up and down: the numbers at the left stay in view. */
function centre(box, target) {
  if (target) box.scrollTop = target.offsetTop - box.offsetTop - box.clientHeight / 3
}

function row(number, line, cited) {
  const text = line === '' ? '\u200b' : line
  return element('li', { value: number, class: cited && 'cited' }, element(cited ? 'mark' : 'code', {}, text))
}
