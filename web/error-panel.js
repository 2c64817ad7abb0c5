// Shows a problem document: what happened, why, what to do next, and the number to name when asking for help.
import { askingButton } from './retry-buttons.js'
import { element, fill } from './dom.js'
import { Problem } from './api-client.js'

/**
 * `again`, when given, is offered as a button, after the time the service asked to wait; `asks` says that it asks a question. `look` leads to where
 * the answer may stand later.
 */
export function showProblem(place, error, again, { asks = false, look } = {}) {
  const told = error instanceof Problem ? error.document : unexpected
  const { title, detail, requestId, retryAfterSeconds } = told
  const next = told.status === 401 ? forPeople : told.next
  // Only the words are an alert: what changes beside them, second by second, would be read aloud each time.
  const words = element(
    'div',
    { class: 'told', role: 'alert' },
    element('strong', {}, String(title)),
    detail && element('p', {}, String(detail)),
    next && element('p', { class: 'next' }, String(next)),
  )
  const box = element(
    'section',
    { class: 'problem' },
    words,
    again && element('div', { class: 'row' }, retryButton(again, asks, retryAfterSeconds), look && lookButton(look)),
    requestId && element('p', { class: 'request' }, 'Request ', element('code', {}, String(requestId))),
  )
  fill(place, box)
}

export const clearProblem = (place) => place.replaceChildren()

/** What the service says to a program is of no use here. */
const forPeople = 'Enter a token of this deployment; whoever runs it can give you one.'

const unexpected = {
  title: 'Something went wrong on this page',
  detail: 'It was not the service. A reload starts the page afresh.',
}

const lookButton = (look) =>
  element('button', { type: 'button', class: 'plain', on: { click: look } }, 'Look at earlier answers')

function retryButton(again, asks, retryAfterSeconds) {
  const button = asks
    ? askingButton('', { class: 'plain' }, again)
    : element('button', { type: 'button', class: 'plain', on: { click: again } })
  const until = Date.now() + Math.min(600, Number(retryAfterSeconds) || 0) * 1_000
  const tick = () => {
    const left = Math.ceil((until - Date.now()) / 1_000)
    const text = left > 0 ? `Try again in ${left} s` : 'Try again'
    button.disabled = left > 0
    if (button.textContent !== text) button.textContent = text
    if (left > 0) setTimeout(tick, 250)
  }
  tick()
  return button
}
