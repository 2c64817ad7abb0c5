// The code of a citation in a small box, while the pointer or the focus is on its number.
import type { Answer, Citation } from './api-types.js'
import { placeOf } from './citation-place.js'
import { renderLines } from './code-lines.js'
import { findLines } from './code-panel.js'
import { element } from './dom.js'

const mostLines = 10
const gap = 6

const box = element('div', { id: 'peek', role: 'tooltip' })

export function peekAt(target: HTMLElement, citation: Citation, answer: Answer): void {
  const show = () => open(target, citation, answer)
  target.addEventListener('mouseenter', show)
  target.addEventListener('focus', () => {
    if (target.matches(':focus-visible')) show()
  })
  target.addEventListener('mouseleave', close)
  target.addEventListener('blur', close)
  target.addEventListener('click', close)
  target.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') close()
  })
}

function close(): void {
  box.remove()
}

function open(target: HTMLElement, citation: Citation, answer: Answer): void {
  const found = findLines(citation, answer)
  if (!found) return
  const { path, from, to } = citation
  const begin = from - found.from
  const lines = found.lines.slice(begin, Math.min(to - found.from + 1, begin + mostLines)).map(String)
  const code = renderLines({ path, from, lines, isCited: () => false })
  box.replaceChildren(element('p', {}, placeOf(citation)), element('div', { class: 'lines' }, code))
  document.body.append(box)
  place(target.getBoundingClientRect())
}

/** Above the number, or below it where there is no room. */
function place({ left, top, bottom }: DOMRect): void {
  const { width, height } = box.getBoundingClientRect()
  const x = Math.max(16, Math.min(left, document.documentElement.clientWidth - width - 16))
  const y = top - height - gap > 60 ? top - height - gap : bottom + gap
  box.style.setProperty('left', `${x + scrollX}px`)
  box.style.setProperty('top', `${y + scrollY}px`)
}
