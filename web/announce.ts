// Sentences for screen readers.
import { find } from './dom.js'

let announcement: ReturnType<typeof setTimeout> | undefined

/** Of several sentences at once a screen reader reads the last one. */
export function announce(text: string): void {
  silence()
  announcement = setTimeout(() => {
    find('status').textContent = text
  }, 150)
}

export const silence = () => clearTimeout(announcement)
