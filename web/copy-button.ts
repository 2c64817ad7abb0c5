// A button that copies a text.
import { announce } from './announce.js'
import { button } from './dom.js'

const shownFor = 2_000

export function copyButton(label: string, text: () => string, kind = 'quiet'): HTMLButtonElement {
  const made = button(label, { class: `copy ${kind}` }, async () => {
    const copied = await navigator.clipboard.writeText(text()).then(
      () => true,
      () => false,
    )
    const words = copied ? 'Copied' : 'Not copied'
    announce(copied ? 'Copied.' : 'The browser did not allow copying.')
    made.textContent = words
    setTimeout(() => {
      made.textContent = label
    }, shownFor)
  })
  return made
}
