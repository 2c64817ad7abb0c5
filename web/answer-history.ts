// The stored answers of a run: folded, and each is loaded when it is opened.
import { createAnswer, showAnswer } from './answer.js'
import type { AnswerPage, FailedAnswer, ListedAnswer, PendingAnswer, StoredAnswer } from './api-types.js'
import { button, type Child, element, fill, find, focusOn } from './dom.js'
import { showProblem } from './error-panel.js'
import { exactTime, timeAgo, withoutBidi } from './format.js'
import { askAgainButton } from './retry-buttons.js'
import type { RunView } from './run-view.js'

export async function showHistory(view: RunView, whenEmpty = noQuestions): Promise<void> {
  const list = find('earlier-list')
  list.setAttribute('aria-busy', 'true')
  fill(list, element('p', { class: 'loading' }, 'Reading earlier answers'))
  try {
    const page = await view.client.answers(view.place, undefined, view.signal)
    fill(list, page.answers.length === 0 && whenEmpty())
    appendPage(list, page, view)
  } catch (error) {
    if (!view.signal.aborted && !view.handleSignOut(error))
      showProblem(list, error, { retry: () => refreshHistory(view, whenEmpty) })
  } finally {
    list.setAttribute('aria-busy', 'false')
  }
}

/** Reads the list again and moves the focus to it. */
export function refreshHistory(view: RunView, whenEmpty = nothingYet): void {
  void showHistory(view, whenEmpty)
  focusOn(find('earlier-title'))
}

const noQuestions = () =>
  element('p', { class: 'empty' }, 'This run has no questions yet. Yours would be the first question.')

const nothingYet = () => element('p', { class: 'hint' }, 'No answer is stored yet. Look again in a while.')

function appendPage(list: HTMLElement, page: AnswerPage, view: RunView): HTMLElement[] {
  const folds = page.answers.map((answer) => createFold(answer, view))
  list.append(...folds)
  if (page.next) list.append(moreButton(page.next, list, view))
  return folds
}

function moreButton(cursor: string, list: HTMLElement, view: RunView): HTMLElement {
  const place = element('div', { class: 'more' })
  const read = async () => {
    fill(place, element('p', { class: 'loading', role: 'status' }, 'Reading more answers'))
    try {
      const page = await view.client.answers(view.place, cursor, view.signal)
      place.remove()
      const [first] = appendPage(list, page, view)
      first?.querySelector('summary')?.focus()
    } catch (error) {
      if (view.signal.aborted || view.handleSignOut(error)) return
      showProblem(place, error, { retry: read })
      place.querySelector('button')?.focus()
    }
  }
  fill(place, button('More answers', { class: 'plain' }, read))
  return place
}

const states = { queued: 'waiting', running: 'being answered', failed: 'not answered', done: undefined }

interface Fold {
  node: HTMLDetailsElement
  summary: HTMLElement
  body: HTMLElement
}

function createFold(answer: ListedAnswer | StoredAnswer, view: RunView, pendingText?: string): HTMLDetailsElement {
  const state = states[answer.status]
  const time = ('completedAt' in answer ? answer.completedAt : undefined) ?? answer.acceptedAt
  const summary = element(
    'summary',
    {},
    element('h3', { class: 'asked' }, withoutBidi(answer.question)),
    element(
      'span',
      { class: 'facts' },
      state && element('span', { class: 'state' }, state),
      element('time', { datetime: time, title: exactTime(time) }, timeAgo(time)),
    ),
  )
  const body = element('div')
  const node = element('details', { class: 'before' }, summary, body)
  const fold = { node, summary, body }
  node.addEventListener('toggle', () => {
    if (!node.open || body.hasChildNodes()) return
    if (answer.status === 'done') void loadAnswer(answer.id, fold, view)
    else fill(body, ...showUnfinished(answer, view, pendingText, () => void loadAnswer(answer.id, fold, view)))
  })
  return node
}

/** Reads the answer as it is now. One that is not done becomes a new fold in the place of the old one. */
async function loadAnswer(id: string, fold: Fold, view: RunView): Promise<void> {
  const { node, summary, body } = fold
  summary.focus()
  fill(body, element('p', { class: 'loading', role: 'status' }, 'Reading the answer'))
  try {
    const answer = await view.client.answer(view.place, id, view.signal)
    const replacement = createFold(answer, view, 'A moment ago its answer was still being written.')
    if (answer.status === 'done') fill(replacement.lastElementChild!, showDone(answer, view))
    replacement.open = true
    const hadFocus = document.activeElement === summary
    node.replaceWith(replacement)
    if (hadFocus) replacement.querySelector('summary')?.focus()
  } catch (error) {
    if (view.signal.aborted || view.handleSignOut(error)) return
    showProblem(body, error, { retry: () => void loadAnswer(id, fold, view) })
  }
}

function showDone(answer: Extract<StoredAnswer, { status: 'done' }>, view: RunView): Node {
  const parts = createAnswer(answer.question)
  parts.title.hidden = true
  showAnswer(parts, answer, view)
  return parts.node
}

function showUnfinished(
  answer: PendingAnswer | FailedAnswer,
  view: RunView,
  pendingText = 'Another caller asked this question; its answer is being written.',
  lookAgain: () => void,
): Child[] {
  const askAgain = askAgainButton('Ask again', { class: 'plain' }, () => view.ask(answer.question))
  if (answer.status === 'failed') {
    const { message, next } = answer.error
    return [element('p', {}, [message, next].filter(Boolean).join(' ')), askAgain]
  }
  const look = button('Look again', { class: 'plain' }, lookAgain)
  return [element('p', {}, pendingText), element('div', { class: 'row' }, look, askAgain)]
}
