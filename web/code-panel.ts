// The column beside the thread: the lines that an answer cites and, before a citation is followed, the diagram of the run.
import type { Answer, Citation, Lines } from './api-types.js'
import { lineRange, placeOf } from './citation-place.js'
import { renderLines, showLanguage } from './code-lines.js'
import { copyButton } from './copy-button.js'
import { type Child, element, fill, find, focusOn, outsideLink } from './dom.js'
import { showProblem } from './error-panel.js'
import { plainName, shortCommit } from './format.js'
import { lineAddress } from './links.js'
import type { RunView } from './run-view.js'
import { closeSheet, hasColumn, openSheet } from './sheet.js'

const noCode = 'The lines that an answer cites appear here.'

let idle: { title: string; content: Child } = { title: 'Code', content: noCode }
/** What led here: it gets the focus back. */
let opener: Element | null = null

export function prepareCodePanel(): void {
  const close = () => {
    if (!closeSheet() && opener instanceof HTMLElement && opener.isConnected) opener.focus()
    closeCode()
  }
  find('code-close').addEventListener('click', close)
  find('code').addEventListener('keydown', ({ key }) => {
    if (key === 'Escape' && hasColumn('code') && !find('code-close').hidden) close()
  })
}

/** Shows the diagram instead of code. */
export function closeCode(): void {
  newest = undefined
  opener = null
  closeSheet()
  markCurrent(undefined)
  find('code-close').hidden = true
  find('code-title').textContent = idle.title
  fill(
    find('code-body'),
    typeof idle.content === 'string' ? element('p', { class: 'hint' }, idle.content) : idle.content,
  )
}

export function setDiagram(diagram: Node | undefined): void {
  idle = diagram
    ? { title: 'Who imports whom', content: element('div', { class: 'diagram' }, diagram) }
    : { title: 'Code', content: noCode }
  closeCode()
}

/** The newest call. Lines that arrive for an earlier one are dropped. */
let newest: symbol | undefined

export function followCitation(citation: Citation, answer: Answer, view: RunView): void {
  opener = document.activeElement
  openSheet('code')
  void showCode(citation, answer, view)
  focusOn(find('code-title'))
}

/** Leaves the focus where it is. */
export async function showCode(citation: Citation, answer: Answer, view: RunView): Promise<void> {
  const call = Symbol('call')
  newest = call
  const body = find('code-body')
  find('code-close').hidden = !hasColumn('code')
  find('code-title').textContent = plainName(citation.path)
  markCurrent(answer.id, citation.label)
  const known = findLines(citation, answer)
  if (!known) fill(body, element('p', { class: 'loading', role: 'status' }, 'Reading the lines'))
  try {
    const lines = known ?? (await view.client.lines(view.place, citation, answer.id, view.signal))
    if (newest === call) showLines(body, citation, answer, lines, view)
  } catch (error) {
    if (view.signal.aborted || view.handleSignOut(error) || newest !== call) return
    showProblem(body, error, { retry: () => void showCode(citation, answer, view) })
  }
}

/** The numbers that lead to what is shown. */
function markCurrent(answer: string | undefined, label?: string): void {
  for (const one of document.querySelectorAll('.place[aria-current], .source[aria-current]'))
    one.removeAttribute('aria-current')
  if (answer === undefined) return
  for (const node of document.querySelectorAll<HTMLElement>('.place, .source'))
    if (node.dataset['label'] === label && node.closest<HTMLElement>('.answer')?.dataset['answer'] === answer)
      node.setAttribute('aria-current', 'true')
}

/** Lines that came with the answer. */
export function findLines({ path, from, to }: Citation, { code = [] }: Partial<Answer>): Lines | undefined {
  const ofFile = code.filter((excerpt) => excerpt.path === path && excerpt.from <= from)
  const endOf = (excerpt: Lines) => excerpt.from + excerpt.lines.length
  return (
    ofFile.find((excerpt) => endOf(excerpt) > Math.min(to, from + 1_000)) ??
    ofFile.find((excerpt) => endOf(excerpt) > from)
  )
}

function showLines(body: HTMLElement, citation: Citation, answer: Answer, found: Lines, view: RunView): void {
  const { from, to, quote, moved } = citation
  const url = view.link(citation.url)
  const isCited = (line: number) => line >= from && line <= to
  const linkTo = (line: number) => view.link(lineAddress(url, line))
  const lines = found.lines.map(String)
  const list = renderLines({ path: citation.path, from: found.from, lines, isCited, linkTo })
  const box = element('div', { class: 'lines', tabindex: '0', role: 'region', 'aria-label': 'Code' }, list)
  const range = element(
    'span',
    {},
    `${lineRange(citation).replace(/^l/, 'L')} at `,
    element('code', {}, shortCommit(answer.commit)),
  )
  const language = element('span', { class: 'language' })
  const cited = () => lines.filter((_, index) => isCited(found.from + index)).join('\n')
  void showLanguage(language, citation.path)
  fill(
    body,
    element(
      'div',
      { class: 'code-head' },
      element('p', { class: 'facts' }, range, language),
      copyButton('Copy lines', cited),
    ),
    moved && element('p', { class: 'note' }, 'The model gave other line numbers; its quote is in these lines.'),
    box,
    quote && element('p', { class: 'facts' }, 'The model quoted ', element('q', {}, String(quote))),
    sourceSteps(citation, answer, view, url),
  )
  scrollTo(box, body.querySelector<HTMLElement>('.cited'))
}

/** The way to the sources before and after, and out to the git host. */
function sourceSteps(citation: Citation, answer: Answer, view: RunView, url: string | undefined): Child {
  const at = answer.citations.findIndex(({ label }) => label === citation.label)
  const step = (text: string, to: Citation | undefined) => {
    if (!to) return undefined
    const made = element('button', { type: 'button', class: 'quiet', 'aria-label': `${text}, ${placeOf(to)}` }, text)
    made.addEventListener('click', () => {
      void showCode(to, answer, view)
      focusOn(find('code-title'))
    })
    return made
  }
  return element(
    'div',
    { class: 'code-head' },
    url && outsideLink(url, {}, 'Open at the git host'),
    element(
      'span',
      {},
      step('Previous source', answer.citations[at - 1]),
      step('Next source', answer.citations[at + 1]),
    ),
  )
}

/** Scrolls vertically only: the line numbers at the left stay visible. */
function scrollTo(box: HTMLElement, target: HTMLElement | null): void {
  if (target) box.scrollTop = target.offsetTop - box.offsetTop - box.clientHeight / 3
}
