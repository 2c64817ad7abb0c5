// Buttons that ask once more. One question is under way at a time: meanwhile all buttons that ask are off, the form's own too, and say so.
import { element } from './dom.js'

let underWay = false

export function askingButton(text, properties, ask) {
  const click = () => {
    if (!underWay) ask()
  }
  const state = { 'data-asks': true, 'aria-disabled': String(underWay) }
  return element('button', { type: 'button', ...state, ...properties, on: { click } }, text)
}

/** A button stays where the keyboard is: it is told to be off, not taken away. */
export function setUnderWay(now) {
  underWay = now
  for (const button of document.querySelectorAll('[data-asks]')) button.setAttribute('aria-disabled', String(now))
}
