// The questions that were asked about a run: a list of links, which can be searched.
import type { AnswerPage, FailedAnswer, ListedAnswer, PendingAnswer } from './api-types.js'
import { button, element, fill, find, focusOn } from './dom.js'
import { showProblem } from './error-panel.js'
import { exactTime, timeAgo, withoutBidi } from './format.js'
import { onPlainClick } from './link-click.js'
import { addressOf, readAddress } from './page-address.js'
import type { RunView } from './run-view.js'
import { closeSheet, openSheet } from './sheet.js'

type Listed = ListedAnswer | PendingAnswer | FailedAnswer

/** A search reads the rest of the list in pages of this size. */
const searchPage = 100
const mostPages = 20

/** From this many on they can be searched. */
const fewest = 6

let next: string | undefined
let shown: { view: RunView; list: HTMLElement } | undefined

const searchField = () => find<HTMLInputElement>('earlier-search')

export async function showEarlier(view: RunView): Promise<void> {
  const place = find('earlier-list')
  const list = element('ul')
  shown = { view, list }
  searchField().value = ''
  searchField().hidden = true
  place.setAttribute('aria-busy', 'true')
  fill(place, element('p', { class: 'loading' }, 'Reading earlier questions'))
  try {
    const page = await view.client.answers(view.place, {}, view.signal)
    fill(place, list)
    addPage(page)
  } catch (error) {
    if (!view.signal.aborted && !view.handleSignOut(error))
      showProblem(place, error, { retry: () => refreshEarlier(view) })
  } finally {
    place.setAttribute('aria-busy', 'false')
  }
}

/** Reads the list again and moves the focus to it. */
export function refreshEarlier(view: RunView): void {
  void showEarlier(view)
  openSheet('contents')
  focusOn(find('earlier-title'))
}

/** Puts a new answer at the top of the list. */
export function addEarlier(answer: ListedAnswer): void {
  if (!shown) return
  const { list } = shown
  for (const item of list.querySelectorAll<HTMLElement>('li')) if (item.dataset['answer'] === answer.id) item.remove()
  list.prepend(createItem(answer))
  update()
}

/** Marks the question of the answer that the address names. */
export function markEarlier(): void {
  const { answer } = readAddress()
  for (const item of shown?.list.children ?? []) {
    const link = item.firstElementChild!
    if (answer !== undefined && (item as HTMLElement).dataset['answer'] === answer)
      link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

function addPage(page: AnswerPage): HTMLElement[] {
  const items = page.answers.map(createItem)
  shown!.list.append(...items)
  next = page.next
  update()
  return items
}

/** What stands below the list, and whether there is a search. */
function update(): void {
  const { list } = shown!
  find('earlier-list').replaceChildren(list, ...below())
  searchField().hidden = list.childElementCount < fewest && next === undefined
  markEarlier()
}

function below(): Node[] {
  if (next !== undefined) return [button('More questions', { class: 'quiet' }, () => void readMore())]
  if (shown!.list.childElementCount > 0) return []
  return [element('p', { class: 'hint' }, 'None yet. Yours would be the first question.')]
}

async function readMore(): Promise<void> {
  const place = element('div')
  find('earlier-list').lastElementChild!.replaceWith(place)
  fill(place, element('p', { class: 'loading', role: 'status' }, 'Reading more questions'))
  const [first] = await readPage(place)
  first?.querySelector('a')?.focus()
}

async function readPage(place: HTMLElement, limit?: number): Promise<HTMLElement[]> {
  const { view } = shown!
  try {
    const page = await view.client.answers(
      view.place,
      { ...(next ? { cursor: next } : {}), ...(limit ? { limit } : {}) },
      view.signal,
    )
    return addPage(page)
  } catch (error) {
    if (view.signal.aborted || view.handleSignOut(error)) return []
    showProblem(place, error, { retry: () => void readMore() })
    place.querySelector('button')?.focus()
    return []
  }
}

const states = { queued: 'waiting', running: 'being answered', failed: 'not answered', done: undefined }

function createItem(answer: Listed): HTMLElement {
  const { view } = shown!
  const state = states[answer.status]
  const time = ('completedAt' in answer ? answer.completedAt : undefined) ?? answer.acceptedAt
  const place = { ...view.place, answer: answer.id }
  const link = element(
    'a',
    { class: 'entry', href: addressOf(place) },
    element('span', {}, withoutBidi(answer.question)),
    element(
      'small',
      {},
      state && `${state}, `,
      element('time', { datetime: time, title: exactTime(time) }, timeAgo(time)),
    ),
  )
  onPlainClick(link, () => {
    closeSheet()
    view.goTo(place)
  })
  return element('li', { 'data-answer': answer.id }, link)
}

/** Reads what is not read yet, and hides what does not have the words. */
async function search(): Promise<void> {
  const place = element('p', { class: 'loading', role: 'status' }, 'Reading all questions')
  if (next !== undefined) find('earlier-list').lastElementChild!.replaceWith(place)
  for (let pages = 0; next !== undefined && pages < mostPages && place.isConnected; pages += 1) {
    if ((await readPage(place, searchPage)).length === 0) break
    find('earlier-list').append(place)
  }
  place.remove()
  applySearch()
}

function applySearch(): void {
  const words = searchField().value.toLowerCase().split(/\s+/)
  for (const item of shown?.list.children ?? []) {
    const text = item.textContent!.toLowerCase()
    ;(item as HTMLElement).hidden = !words.every((word) => text.includes(word))
  }
}

export function prepareSearch(): void {
  searchField().addEventListener('input', () => {
    if (next === undefined) applySearch()
    else void search()
  })
}
