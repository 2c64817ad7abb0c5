// The head of a run's page, its summary, and the contents beside it.
import type { WholeRun } from './api-types.js'
import { closeCode, setDiagram } from './code-panel.js'
import { correctionList } from './corrections.js'
import { renderDiagram } from './diagram.js'
import { button, element, fill, find, focusOn, uniqueId } from './dom.js'
import { plainName, plural, shortCommit } from './format.js'
import type { CheckLink } from './links.js'
import { renderBlocks } from './render-blocks.js'
import { createRunTime, runTitle } from './run-picker.js'
import { closeSheet, openSheet } from './sheet.js'

export function showFacts(run: WholeRun): void {
  const model = run.handoff?.model?.name ?? run.model
  document.title = `${plainName(run.repository)} at ${shortCommit(run.commit)} · handoff`
  fill(
    find('run-facts'),
    element('span', {}, runTitle(run)),
    element('code', {}, shortCommit(run.commit)),
    createRunTime(run.sealedAt),
    element('span', {}, plural(run.files, 'file')),
    model && element('span', {}, plainName(model)),
  )
  const note = find('run-note')
  note.hidden = !run.partial
  note.textContent = run.partial ? `The summary is not complete: ${plainName(run.partial)}` : ''
}

/** While the run is being read, nothing of another one stands here. */
export function awaitSummary(): void {
  setDiagram(undefined)
  fill(find('contents-list'))
  fill(find('summary')).hidden = true
}

/** Without the document's own title: the page's head says the same. */
export function showSummary({ summaryBlocks, corrections, diagram }: WholeRun, link: CheckLink): void {
  const [first, ...rest] = summaryBlocks
  const blocks = first?.kind === 'heading' && first.level === 1 ? rest : summaryBlocks
  const entries: HTMLElement[] = []
  const onHeading = (heading: HTMLElement, level: number) => {
    if (level === 2) entries.push(contentsEntry(heading))
  }
  const summary = fill(
    find('summary'),
    renderBlocks(blocks, { shift: 0, link, onHeading }),
    correctionList(corrections, link),
  )
  summary.hidden = false
  const picture = diagram && diagram.nodes.length > 0 ? renderDiagram(diagram, link) : undefined
  setDiagram(picture)
  if (picture) entries.push(button('Who imports whom', { class: 'entry diagram-entry' }, showDiagram))
  fill(
    find('contents-list'),
    entries.map((entry) => element('li', {}, entry)),
  )
}

function contentsEntry(heading: HTMLElement): HTMLElement {
  heading.id = uniqueId('section')
  const entry = element('a', { class: 'entry', href: `#${heading.id}` }, heading.textContent)
  // The address names the run and the answer; a place on the page is not part of it.
  entry.addEventListener('click', (event) => {
    event.preventDefault()
    closeSheet()
    focusOn(heading)
    heading.scrollIntoView()
  })
  return entry
}

function showDiagram(): void {
  closeCode()
  openSheet('code')
  focusOn(find('code-title'))
}
