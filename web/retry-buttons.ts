// Buttons that ask a question again. One question runs at a time; meanwhile all buttons that ask are off, the form's own too.
import { button, type Properties } from './dom.js'

let isAsking = false

export function askAgainButton(text: string, properties: Properties, ask: () => void): HTMLButtonElement {
  return button(text, { 'data-asks': true, 'aria-disabled': String(isAsking), ...properties }, () => {
    if (!isAsking) ask()
  })
}

/** A button keeps the focus: it is marked as off, not disabled. */
export function setAsking(now: boolean): void {
  isAsking = now
  for (const one of document.querySelectorAll('[data-asks]')) one.setAttribute('aria-disabled', String(now))
}
