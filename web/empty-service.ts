// What to do where there is nothing to ask about yet: the workflow to add, copied with one click.
import workflow from '../examples/push-summary.yml'
import { renderCode } from './code-lines.js'
import { copyButton } from './copy-button.js'
import { element } from './dom.js'
import { plainName } from './format.js'

const path = '.github/workflows/handoff.yml'

/** `repository` is missing where the reader may see none. */
export function explainEmpty(repository?: string): HTMLElement {
  const name = repository === undefined ? 'a repository' : plainName(repository)
  const label = element('span', { class: 'language' })
  const caption = element(
    'figcaption',
    {},
    element('code', {}, path),
    copyButton('Copy the workflow', () => workflow),
  )
  const code = renderCode(workflow, { path }, label)
  const file = element(
    'figure',
    {},
    caption,
    element('pre', { tabindex: '0', role: 'group', 'aria-label': 'Workflow' }, code),
  )
  return element(
    'div',
    { class: 'empty prose' },
    element('strong', {}, repository === undefined ? 'Nothing to ask about yet' : `${name} has no summary.`),
    element(
      'ol',
      {},
      element('li', {}, `Add this file to ${name} as `, element('code', {}, path), '.'),
      element(
        'li',
        {},
        'Set its secrets in the settings of the repository: ',
        ['E2B_API_KEY', 'DRIVE9_API_KEY', 'LLM_API_KEY'].flatMap((secret, index) => [
          index > 0 && ', ',
          element('code', {}, secret),
        ]),
        '. They belong to the same accounts as those of this service.',
      ),
      element('li', {}, 'Push. The run appears here when its summary is sealed.'),
    ),
    file,
  )
}
