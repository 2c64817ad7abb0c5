// Choosing a repository and one of its runs.
import type { ApiClient } from './api-client.js'
import type { Run, RunPage } from './api-types.js'
import { button, type Child, element, fill, find } from './dom.js'
import { explainEmpty } from './empty-service.js'
import { clearProblem, showProblem } from './error-panel.js'
import { exactTime, plainName, plural, refName, shortCommit, timeAgo } from './format.js'
import { onPlainClick } from './link-click.js'
import { addressOf, type Place } from './page-address.js'

interface PickerOptions {
  client: ApiClient
  open: (place: Place) => void
  /** Handles an error that means that the token is not valid any more. */
  handleSignOut: (error: unknown) => boolean
}

const mostChips = 12

export function createRunPicker({ client, open, handleSignOut }: PickerOptions) {
  let current = new AbortController()
  let isEmpty = false
  const list = find('runs')
  const problem = find('choose-problem')
  const field = find<HTMLInputElement>('repository')

  async function show(repository: string): Promise<void> {
    const { signal } = select(repository)
    list.setAttribute('aria-busy', 'true')
    fill(list, element('p', { class: 'loading', role: 'status' }, 'Reading the runs'))
    try {
      const page = await client.runs(repository, undefined, signal)
      fill(list, createPage(repository, page, signal))
    } catch (error) {
      if (signal.aborted) return
      fill(list)
      if (!handleSignOut(error)) showProblem(problem, error, { retry: () => open({ repository }) })
    } finally {
      if (!signal.aborted) list.setAttribute('aria-busy', 'false')
    }
  }

  /** Ends what runs for the repository before. */
  function select(repository: string): AbortController {
    current.abort()
    current = new AbortController()
    field.value = repository
    for (const chip of document.querySelectorAll<HTMLElement>('.chip')) {
      if (chip.dataset['name'] === repository) chip.setAttribute('aria-current', 'true')
      else chip.removeAttribute('aria-current')
    }
    clearProblem(problem)
    return current
  }

  function reset(): void {
    select('')
    fill(list, isEmpty && explainEmpty()).setAttribute('aria-busy', 'false')
  }

  function createPage(repository: string, page: RunPage, signal: AbortSignal): Child[] {
    if (page.runs.length === 0) return [explainEmpty(repository)]
    const rows = element('ul', { class: 'runs' }, page.runs.map(createItem))
    return [rows, page.next !== undefined && moreButton(repository, page.next, rows, signal)]
  }

  function createItem(run: Run): HTMLElement {
    const place = { repository: run.repository, run: run.run }
    const link = element('a', { href: addressOf(place) }, runTitle(run))
    onPlainClick(link, () => open(place))
    const facts = element(
      'span',
      { class: 'facts' },
      element('code', {}, shortCommit(run.commit)),
      createRunTime(run.sealedAt),
      element('span', {}, plural(run.files, 'file')),
      run.partial && element('span', {}, 'not complete'),
    )
    return element('li', {}, link, facts)
  }

  function moreButton(repository: string, cursor: string, rows: HTMLElement, signal: AbortSignal): HTMLElement {
    const made = button('More runs', { class: 'plain' }, async () => {
      made.disabled = true
      try {
        const page = await client.runs(repository, cursor, signal)
        const items = page.runs.map(createItem)
        rows.append(...items)
        if (page.next) made.replaceWith(moreButton(repository, page.next, rows, signal))
        else made.remove()
        items[0]?.querySelector('a')?.focus()
      } catch (error) {
        made.disabled = false
        if (!signal.aborted && !handleSignOut(error)) showProblem(problem, error)
      }
    })
    return made
  }

  /** Offers the repositories that the token may see. */
  function offer(repositories: string[]): void {
    const named = repositories.filter((name) => !name.includes('*'))
    fill(
      find('repositories'),
      named.map((name) => element('option', { value: name })),
    )
    const chips = named
      .slice(0, mostChips)
      .map((name) => button(plainName(name), { class: 'chip', 'data-name': name }, () => open({ repository: name })))
    fill(
      find('repository-list'),
      chips.map((chip) => element('li', {}, chip)),
    )
    // A single repository needs no choice.
    find('repository-form').hidden = repositories.length === 1 && named.length === 1
    isEmpty = repositories.length === 0
  }

  find('repository-form').addEventListener('submit', (event) => {
    event.preventDefault()
    open({ repository: field.value.trim() })
  })

  return { show, offer, stop: () => current.abort(), reset }
}

export const runTitle = (run: Run) => plainName(refName(run.ref) || `Commit ${shortCommit(run.commit)}`)

export const createRunTime = (time: string, said = `summarised ${timeAgo(time)}`) =>
  element('time', { datetime: time, title: exactTime(time) }, said)
