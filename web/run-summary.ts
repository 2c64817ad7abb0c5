// The head of a run's page, and its summary.
import type { WholeRun } from './api-types.js'
import { renderDiagram } from './diagram.js'
import { element, fill, find } from './dom.js'
import { plainName, plural, shortCommit } from './format.js'
import type { CheckLink } from './links.js'
import { renderBlocks } from './render-blocks.js'
import { createRunTime, runTitle } from './run-picker.js'

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
  find('diagram-fold').hidden = true
  fill(find('summary'), element('p', { class: 'loading', role: 'status' }, 'Reading the summary'))
}

/** Without the document's own title: the page's head says the same. */
export function showSummary({ summaryBlocks, diagram }: WholeRun, link: CheckLink): void {
  const [first, ...rest] = summaryBlocks
  const blocks = first?.kind === 'heading' && first.level === 1 ? rest : summaryBlocks
  fill(find('summary'), renderBlocks(blocks, { shift: 1, link }))
  showDiagram(diagram, link)
}

/** Folded, so that it adds no stops on the way to the question. */
function showDiagram(diagram: WholeRun['diagram'], link: CheckLink): void {
  const fold = find<HTMLDetailsElement>('diagram-fold')
  fold.hidden = diagram === undefined || diagram.nodes.length === 0
  fold.open = false
  fill(find('diagram'), ...(diagram === undefined || fold.hidden ? [] : [renderDiagram(diagram, link)]))
}
