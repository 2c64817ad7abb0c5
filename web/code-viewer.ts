// The lines that an answer cites, in a dialog beside the page. The browser's own dialog keeps the focus inside and returns it.
import type { Answer, Citation, Lines } from './api-types.js'
import { lineRange } from './citation.js'
import { element, fill, find, outsideLink } from './dom.js'
import { showProblem } from './error-panel.js'
import { plainName, shortCommit } from './format.js'
import type { RunView } from './run-view.js'

const dialog = () => find<HTMLDialogElement>('code')

export function prepareCodeViewer(): void {
  find('code-close').addEventListener('click', closeCode)
  dialog().addEventListener('click', (event) => {
    if (event.target === dialog()) closeCode()
  })
}

export function closeCode(): void {
  if (dialog().open) dialog().close()
}

/** The newest call. Lines that arrive for an earlier one are dropped. */
let newest: symbol | undefined

export async function openCode(citation: Citation, answer: Answer, view: RunView): Promise<void> {
  const call = Symbol('call')
  newest = call
  const body = find('code-body')
  const title = find('code-title')
  title.textContent = plainName(citation.path)
  if (!dialog().open) dialog().showModal()
  title.focus()
  const known = findLines(citation, answer)
  if (!known) fill(body, element('p', { class: 'loading', role: 'status' }, 'Reading the lines'))
  try {
    const lines = known ?? (await view.client.lines(view.place, citation, answer.id, view.signal))
    if (newest === call) showLines(body, citation, answer, lines, view)
  } catch (error) {
    if (view.handleSignOut(error) || newest !== call || !dialog().open) return
    showProblem(body, error, { retry: () => void openCode(citation, answer, view) })
  }
}

/** Lines that came with the answer. */
function findLines({ path, from, to }: Citation, { code = [] }: Partial<Answer>): Lines | undefined {
  const ofFile = code.filter((excerpt) => excerpt.path === path && excerpt.from <= from)
  const endOf = (excerpt: Lines) => excerpt.from + excerpt.lines.length
  return (
    ofFile.find((excerpt) => endOf(excerpt) > Math.min(to, from + 1_000)) ??
    ofFile.find((excerpt) => endOf(excerpt) > from)
  )
}

function showLines(body: HTMLElement, citation: Citation, answer: Answer, lines: Lines, view: RunView): void {
  const { from, to, quote, moved } = citation
  const isCited = (number: number) => number >= from && number <= to
  const rows = lines.lines.map((line, index) =>
    createRow(lines.from + index, String(line), isCited(lines.from + index)),
  )
  const url = view.link(citation.url)
  const range = element(
    'span',
    {},
    `${lineRange(citation).replace(/^l/, 'L')} at `,
    element('code', {}, shortCommit(answer.commit)),
  )
  const list = element('ol', {}, rows)
  const box = element('div', { class: 'lines', tabindex: '0', role: 'region', 'aria-label': 'Code' }, list)
  fill(
    body,
    element('p', { class: 'facts' }, range, url && outsideLink(url, {}, 'Open at the git host')),
    moved && element('p', { class: 'note' }, 'The model gave other line numbers; its quote is in these lines.'),
    box,
    quote && element('p', { class: 'facts' }, 'The model quoted ', element('q', {}, String(quote))),
  )
  scrollTo(box, body.querySelector<HTMLElement>('.cited'))
}

/** Scrolls vertically only: the line numbers at the left stay visible. */
function scrollTo(box: HTMLElement, target: HTMLElement | null): void {
  if (target) box.scrollTop = target.offsetTop - box.offsetTop - box.clientHeight / 3
}

function createRow(number: number, line: string, cited: boolean): HTMLElement {
  const text = line === '' ? '\u200b' : line
  return element('li', { value: number, class: cited && 'cited' }, element(cited ? 'mark' : 'code', {}, text))
}
