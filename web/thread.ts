// The thread of a run: questions are asked, and their answers stand one below the other, the newest last.
import { announce } from './announce.js'
import { type AnswerParts, createAnswer, showAnswer, showReuse } from './answer.js'
import type { Answer, FailedAnswer, PendingAnswer, Question, StatusEvent, StoredAnswer } from './api-types.js'
import { askQuestion, stopped } from './ask-question.js'
import { findLines, showCode } from './code-panel.js'
import { button, element, fill, find, focusOn } from './dom.js'
import { createDraft } from './draft.js'
import { addEarlier, markEarlier } from './earlier-questions.js'
import { showProblem } from './error-panel.js'
import { withoutBidi } from './format.js'
import { onPlainClick } from './link-click.js'
import { addressOf } from './page-address.js'
import { askAgainButton, setAsking } from './retry-buttons.js'
import type { RunView } from './run-view.js'
import { hasColumn } from './sheet.js'

let asking: AbortController | undefined
/** Follows an answer that another caller asked for. */
let following: AbortController | undefined
/** The next question follows this answer. */
let last: Answer | undefined

const questionField = () => find<HTMLTextAreaElement>('question')

export function stopAsking(): void {
  asking?.abort()
  following?.abort()
}

export function clearThread(): void {
  stopAsking()
  fill(find('answers'))
  find('examples').hidden = false
  follow(undefined)
}

/** What the question box and its options say. */
function askFromForm(view: RunView): void {
  const text = questionField().value.trim()
  if (text !== '') askInThread(view, text)
}

export function askInThread(view: RunView, text: string): void {
  const [model, depth, run] = ['model', 'depth', 'compare'].map((id) => find<HTMLSelectElement>(id).value)
  const question = {
    ...view.place,
    question: text,
    ...(find<HTMLInputElement>('fresh').checked ? { fresh: true } : {}),
    ...(last ? { after: last.id } : {}),
    ...(model ? { model } : {}),
    ...(depth ? { depth } : {}),
    ...(run ? { compareWith: { run } } : {}),
  }
  view.ask(question)
}

/** Resolves with `unauthorized` when the token is not accepted any more. A reader who asks from elsewhere than the form is led to the new answer. */
export async function ask(view: RunView, question: Question, earlier?: Element): Promise<'unauthorized' | undefined> {
  if (asking) return undefined
  const own = new AbortController()
  asking = own
  const parts = createAnswer(question.question)
  const isFromForm = find('ask-form').contains(document.activeElement)
  if (earlier) {
    following?.abort()
    earlier.remove()
  }
  addToThread(parts)
  if (!isFromForm) focusOn(parts.title)
  showAsking(true)
  find<HTMLDetailsElement>('options').open = false
  const outcome = await askQuestion(question, view, parts, own.signal)
  asking = undefined
  showAsking(false, parts.title)
  if (typeof outcome === 'string') return outcome === 'unauthorized' ? outcome : undefined
  showReuse(parts, outcome, () => view.ask({ ...question, fresh: true }, parts.node))
  showDone(parts, outcome, view)
  addEarlier(outcome)
  history.replaceState(null, '', addressOf({ ...view.place, answer: outcome.id }))
  markEarlier()
  if (questionField().value.trim() === question.question) {
    questionField().value = ''
    find<HTMLInputElement>('fresh').checked = false
  }
  return undefined
}

function addToThread({ node }: AnswerParts): void {
  find('examples').hidden = true
  find('answers').append(node)
  node.scrollIntoView({ block: 'start' })
}

function showDone(parts: AnswerParts, answer: Answer, view: RunView): void {
  removeSameAnswers(parts.node, answer.id)
  showAnswer(parts, answer, view)
  follow(answer, view)
  const [first] = answer.citations
  if (first && hasColumn('code') && findLines(first, answer)) void showCode(first, answer, view)
}

/** The same answer is shown once. */
function removeSameAnswers(node: HTMLElement, id: string): void {
  for (const other of find('answers').querySelectorAll<HTMLElement>('[data-answer]'))
    if (other !== node && other.dataset['answer'] === id) other.remove()
}

/** Says above the question box what the next question follows. */
function follow(answer: Answer | undefined, view?: RunView): void {
  last = answer
  const line = find('follows')
  fill(line, element('span', {}, 'A model writes the answer; each citation is checked against this commit.'))
  if (!answer || !view) return
  const anew = button('New thread', { class: 'quiet' }, () => {
    view.goTo(view.place)
    questionField().focus()
  })
  fill(line, element('span', {}, `Follows “${withoutBidi(answer.question)}”`), anew)
}

// ── answers by their address ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** Shows a stored answer as the beginning of a thread. */
export async function openAnswer(
  view: RunView,
  id: string,
  reading: Promise<StoredAnswer>,
  again = false,
): Promise<void> {
  clearThread()
  markEarlier()
  const parts = createAnswer('')
  fill(parts.slot, element('p', { class: 'loading', role: 'status' }, 'Reading the answer'))
  addToThread(parts)
  try {
    const record = await reading
    if (!parts.node.isConnected) return
    parts.title.textContent = withoutBidi(record.question)
    fill(parts.slot)
    if (record.status === 'done') showStored(parts, record, view)
    else showUnfinished(parts, record, view, again)
    focusOn(parts.title)
    parts.node.scrollIntoView({ block: 'start' })
  } catch (error) {
    if (view.signal.aborted || view.handleSignOut(error)) return
    fill(parts.slot)
    showProblem(parts.problem, error, { retry: () => reopen(view, id) })
  }
}

function reopen(view: RunView, id: string): void {
  void openAnswer(view, id, view.client.answer(view.place, id, view.signal), true)
}

function showStored(parts: AnswerParts, answer: Answer, view: RunView): void {
  showDone(parts, answer, view)
  const { after } = answer
  if (after === undefined) return
  const place = { ...view.place, answer: after }
  const link = element('a', { href: addressOf(place) }, 'the answer before it')
  onPlainClick(link, () => view.goTo(place))
  fill(parts.slot, element('p', { class: 'facts' }, element('span', {}, 'This question follows ', link, '.')))
}

function showUnfinished(parts: AnswerParts, record: PendingAnswer | FailedAnswer, view: RunView, again: boolean): void {
  const askAgain = askAgainButton('Ask again', { class: 'plain' }, () =>
    view.ask({ ...view.place, question: record.question }, parts.node),
  )
  parts.words.setAttribute('aria-busy', 'false')
  if (record.status === 'failed') {
    const { message, next } = record.error
    fill(parts.slot, element('p', {}, [message, next].filter(Boolean).join(' ')))
    fill(parts.rest, element('div', { class: 'row' }, askAgain))
    return
  }
  const look = button('Look again', { class: 'plain' }, () => reopen(view, record.id))
  const text = again
    ? 'A moment ago its answer was still being written.'
    : 'Another caller asked this question; its answer is being written.'
  fill(parts.slot, element('p', {}, text))
  fill(parts.rest, element('div', { class: 'row' }, look, askAgain))
  following = new AbortController()
  void showWords(parts, record.id, view, following.signal)
}

/** The words come as they are written. Where they end without an answer, the reader may look again. */
async function showWords(parts: AnswerParts, id: string, view: RunView, left: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([left, view.signal])
  const draft = createDraft(parts)
  try {
    for await (const [name, data] of view.client.follow(view.place, id, undefined, signal)) {
      if (name === 'token') draft.append(String((data as { text: string }).text))
      if (name === 'status' && (data as StatusEvent).state === 'restarted') draft.replace()
      if (name !== 'answer') continue
      fill(parts.slot)
      showStored(parts, data as Answer, view)
      announce('The answer is ready.')
    }
  } catch (error) {
    if (!signal.aborted) view.handleSignOut(error)
  }
}

// ── the question box ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

function showAsking(now: boolean, title?: HTMLElement): void {
  const stop = find('stop')
  if (title && document.activeElement === stop) focusOn(title)
  stop.hidden = !now
  setAsking(now)
  find('ask').textContent = now ? 'Asking' : 'Ask'
}

export function prepareQuestionBox(currentView: () => RunView | undefined): void {
  const form = find<HTMLFormElement>('ask-form')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const view = currentView()
    if (view) askFromForm(view)
  })
  questionField().addEventListener('keydown', (event) => {
    // A keyboard on the screen has no other key for a new line.
    const asks = event.ctrlKey || event.metaKey || (!event.shiftKey && matchMedia('(hover: hover)').matches)
    if (event.key !== 'Enter' || event.isComposing || !asks) return
    event.preventDefault()
    form.requestSubmit()
  })
  find('stop').addEventListener('click', () => {
    asking?.abort(stopped)
    announce('Stopped.')
    questionField().focus()
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || form.hidden || (event.target as Element).matches('input, textarea, select')) return
    event.preventDefault()
    questionField().focus()
  })
}
