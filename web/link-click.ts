// Links within the page: a plain click stays on the page, any other click is the browser's own.
export function onPlainClick(link: HTMLElement, go: () => void): void {
  link.addEventListener('click', (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    go()
  })
}
