// Shows a problem: what happened, why, what to do next, and the request to name when asking for help.
import { Problem } from './api-client.js'
import type { ProblemDocument } from './api-types.js'
import { button, element, fill } from './dom.js'
import { askAgainButton } from './retry-buttons.js'

interface ProblemOptions {
  /** Tries again, after the time that the service asks to wait. */
  retry?: () => void
  /** Trying again asks a question. */
  asks?: boolean
  /** Leads to where the answer may appear later. */
  lookUp?: (() => void) | undefined
}

export function showProblem(
  place: Element,
  error: unknown,
  { retry, asks = false, lookUp }: ProblemOptions = {},
): void {
  const document = error instanceof Problem ? error.document : unexpected
  const { title, detail, requestId, retryAfterSeconds } = document
  const next = document.status === 401 ? enterToken : document.next
  // Only the words are an alert: a screen reader would read the countdown beside them each second.
  const words = element(
    'div',
    { class: 'reported', role: 'alert' },
    element('strong', {}, String(title)),
    detail && element('p', {}, String(detail)),
    next && element('p', { class: 'next' }, String(next)),
  )
  const lookUpButton = lookUp && button('Look at earlier questions', { class: 'plain' }, lookUp)
  const buttons = retry && element('div', { class: 'row' }, retryButton(retry, asks, retryAfterSeconds), lookUpButton)
  const request = requestId && element('p', { class: 'request' }, 'Request ', element('code', {}, String(requestId)))
  fill(place, element('section', { class: 'problem' }, words, buttons, request))
}

export const clearProblem = (place: Element) => place.replaceChildren()

/** The service's own advice is for programs. */
const enterToken = 'Enter a token of this deployment; its operator can give you one.'

const unexpected: ProblemDocument = {
  title: 'Something went wrong on this page',
  detail: 'The service is not the cause. Reload the page.',
}

function retryButton(retry: () => void, asks: boolean, retryAfterSeconds: number | undefined): HTMLButtonElement {
  const made = asks ? askAgainButton('', { class: 'plain' }, retry) : button('', { class: 'plain' }, retry)
  const until = Date.now() + Math.min(600, Number(retryAfterSeconds) || 0) * 1_000
  const tick = () => {
    const left = Math.ceil((until - Date.now()) / 1_000)
    const text = left > 0 ? `Try again in ${left} s` : 'Try again'
    made.disabled = left > 0
    if (made.textContent !== text) made.textContent = text
    if (left > 0) setTimeout(tick, 250)
  }
  tick()
  return made
}
