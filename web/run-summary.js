// The head of a run's page and its summary, which is a model's.
import { element, fill, find, outsideLink } from './dom.js'
import { markdown } from './render-markdown.js'
import { timeOf, titleOf } from './run-picker.js'
import { plainName, plural, shortCommit } from './format.js'

export function showFacts(run) {
  const model = run.handoff?.model?.name ?? run.model
  document.title = `${plainName(run.repository)} at ${shortCommit(run.commit)} · handoff`
  fill(
    find('run-facts'),
    element('span', {}, titleOf(run)),
    element('code', {}, shortCommit(run.commit)),
    timeOf(run.sealedAt),
    element('span', {}, plural(run.files, 'file')),
    model && element('span', {}, plainName(model)),
  )
  find('run-note').hidden = !run.partial
  find('run-note').textContent = run.partial ? `The summary is not complete: ${plainName(run.partial)}` : ''
}

/** The file's own title says what the page's head says already. */
export function showSummary(run, links) {
  const text = String(run.summary ?? '').replace(/^# [^\n]*\n/, '')
  const mention = (path, from, to, shown) => {
    const url = links.file(path, from, to)
    return url && outsideLink(url, { class: 'mention' }, plainName(shown))
  }
  fill(find('summary'), markdown(text, { shift: 1, link: links.link, mention }))
}
