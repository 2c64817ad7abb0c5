// Choosing: which repository, which run of it.
import { element, fill, find } from './dom.js'
import { clearProblem, showProblem } from './error-panel.js'
import { ago, exactTime, plainName, plural, refName, shortCommit } from './format.js'

/** `open(place)` is called with the repository or the run that somebody chose; `failed(error)` may take an error over by returning true. */
export function makeChooser({ service, open, failed }) {
  let current = new AbortController()
  const list = find('runs')
  const problem = find('choose-problem')

  async function show(repository) {
    const { signal } = begin(repository)
    list.setAttribute('aria-busy', 'true')
    fill(list, element('p', { class: 'loading', role: 'status' }, 'Reading the runs'))
    try {
      const page = await service.runs(repository, undefined, signal)
      fill(list, ...pageNodes(repository, page, signal))
    } catch (error) {
      if (signal.aborted) return
      fill(list)
      if (!failed(error)) showProblem(problem, error, () => open({ repository }))
    } finally {
      if (!signal.aborted) list.setAttribute('aria-busy', 'false')
    }
  }

  /** Leaves whatever was chosen before. */
  function begin(repository) {
    current.abort()
    current = new AbortController()
    find('repository').value = repository
    for (const chip of document.querySelectorAll('.chip')) mark(chip, chip.dataset.name === repository)
    clearProblem(problem)
    return current
  }

  function reset() {
    begin('')
    fill(list).setAttribute('aria-busy', 'false')
  }

  function pageNodes(repository, page, signal) {
    if (page.runs.length === 0) return [nothingYet(repository)]
    const rows = element('ul', { class: 'runs' }, ...page.runs.map((run) => item(run)))
    return [rows, page.next && moreButton(repository, page.next, rows, signal)]
  }

  function item(run) {
    const place = { repository: run.repository, run: run.run }
    const link = element('a', { href: addressOf(place), on: { click: (event) => follow(event, place) } }, titleOf(run))
    return element(
      'li',
      {},
      link,
      element(
        'span',
        { class: 'facts' },
        element('code', {}, shortCommit(run.commit)),
        timeOf(run.sealedAt),
        element('span', {}, plural(run.files, 'file')),
        run.partial && element('span', {}, 'not complete'),
      ),
    )
  }

  function follow(event, place) {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
    event.preventDefault()
    open(place)
  }

  function moreButton(repository, cursor, rows, signal) {
    const button = element('button', { type: 'button', class: 'plain' }, 'More runs')
    button.addEventListener('click', async () => {
      button.disabled = true
      try {
        const page = await service.runs(repository, cursor, signal)
        const first = item(page.runs[0] ?? {})
        rows.append(...(page.runs.length > 0 ? [first] : []), ...page.runs.slice(1).map((run) => item(run)))
        if (page.next) button.replaceWith(moreButton(repository, page.next, rows, signal))
        else button.remove()
        first.querySelector('a')?.focus()
      } catch (error) {
        button.disabled = false
        if (!signal.aborted && !failed(error)) showProblem(problem, error)
      }
    })
    return button
  }

  function offer(repositories) {
    const named = repositories.filter((name) => !name.includes('*'))
    fill(find('repositories'), ...named.map((name) => element('option', { value: name })))
    const chips = named
      .slice(0, 12)
      .map((name) =>
        element(
          'li',
          {},
          element(
            'button',
            { type: 'button', class: 'chip', 'data-name': name, on: { click: () => open({ repository: name }) } },
            plainName(name),
          ),
        ),
      )
    fill(find('repository-list'), ...chips)
    // With a single repository there is nothing to choose or to type.
    find('repository-form').hidden = repositories.length === 1 && named.length === 1
    return named
  }

  find('repository-form').addEventListener('submit', (event) => {
    event.preventDefault()
    open({ repository: find('repository').value.trim() })
  })

  return { show, offer, stop: () => current.abort(), reset }
}

function mark(chip, chosen) {
  if (chosen) chip.setAttribute('aria-current', 'true')
  else chip.removeAttribute('aria-current')
}

export const titleOf = (run) => plainName(refName(run.ref) || `Commit ${shortCommit(run.commit)}`)

export const timeOf = (time) => element('time', { datetime: time, title: exactTime(time) }, `summarised ${ago(time)}`)

export const addressOf = (place) => `/?${new URLSearchParams(place)}`

const nothingYet = (repository) =>
  element(
    'div',
    { class: 'empty' },
    element('strong', {}, 'No runs yet'),
    element(
      'p',
      {},
      `Nobody has summarised ${plainName(repository)}. Push a commit with the workflow in place, or run the workflow by hand; the run appears here when it is sealed.`,
    ),
  )
