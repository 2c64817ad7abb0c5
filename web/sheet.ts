// On a narrow screen a side column becomes a sheet: its pane is moved into a dialog, which keeps the focus inside and returns it.
import { find } from './dom.js'

/** Below these widths the columns are not shown; layout.css has the same numbers. */
const widths = { contents: matchMedia('(min-width: 80rem)'), code: matchMedia('(min-width: 60rem)') }

type PaneName = keyof typeof widths

let shown: { pane: HTMLElement; column: Element } | undefined

/** Whether the pane stands beside the thread. */
export const hasColumn = (name: PaneName) => widths[name].matches

const sheet = () => find<HTMLDialogElement>('sheet')

/** Does nothing where the pane has a column of its own. */
export function openSheet(name: PaneName): void {
  if (hasColumn(name) || shown) return
  const pane = find(name)
  shown = { pane, column: pane.parentElement! }
  sheet().setAttribute('aria-labelledby', pane.querySelector('h2')!.id)
  sheet().append(pane)
  sheet().showModal()
}

/** Whether a sheet was open. */
export function closeSheet(): boolean {
  const wasOpen = sheet().open
  if (wasOpen) sheet().close()
  putBack()
  return wasOpen
}

function putBack(): void {
  shown?.column.append(shown.pane)
  shown = undefined
}

export function prepareSheet(): void {
  const dialog = sheet()
  // The event comes later: the sheet may be open again with the other pane.
  dialog.addEventListener('close', () => {
    if (!dialog.open) putBack()
  })
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) closeSheet()
  })
  find('sheet-close').addEventListener('click', closeSheet)
  for (const width of Object.values(widths)) width.addEventListener('change', closeSheet)
}
