// What was asked about the run before, by anybody: folded, and opened one by one.
import { askingButton } from './again.js'
import { makeAnswer, showAnswer } from './answer.js'
import { element, fill, find, focusOn } from './elements.js'
import { showProblem } from './problem.js'
import { ago, exactTime, withoutTurns } from './words.js'

export async function showEarlier(desk, signal) {
  const list = find('earlier-list')
  list.setAttribute('aria-busy', 'true')
  fill(list, element('p', { class: 'loading' }, 'Reading earlier answers'))
  try {
    const page = await desk.service.answers(desk.place, undefined, signal)
    fill(list, page.answers.length === 0 ? nothing() : undefined)
    add(list, page, desk, signal)
  } catch (error) {
    if (!signal.aborted && !desk.failed(error)) showProblem(list, error, () => showEarlier(desk, signal))
  } finally {
    list.setAttribute('aria-busy', 'false')
  }
}

const nothing = () =>
  element('p', { class: 'empty' }, 'Nothing was asked about this run yet. Yours would be the first question.')

function add(list, page, desk, signal) {
  const folds = page.answers.map((answer) => fold(answer, desk))
  list.append(...folds)
  if (!page.next) return folds
  const button = element('button', { type: 'button', class: 'plain' }, 'More answers')
  button.addEventListener('click', async () => {
    button.disabled = true
    try {
      const next = await desk.service.answers(desk.place, page.next, signal)
      button.remove()
      const [first] = add(list, next, desk, signal)
      if (first) focusOn(first.querySelector('summary'))
    } catch (error) {
      button.disabled = false
      if (!signal.aborted) desk.failed(error)
    }
  })
  list.append(button)
  return folds
}

const states = { queued: 'waiting', running: 'being answered', failed: 'not answered' }

function fold(answer, desk) {
  const state = states[answer.status]
  const time = answer.completedAt ?? answer.acceptedAt
  const summary = element(
    'summary',
    {},
    element('h3', { class: 'asked' }, withoutTurns(answer.question)),
    element(
      'span',
      { class: 'facts' },
      state && element('span', { class: 'state' }, state),
      element('time', { datetime: time, title: exactTime(time) }, ago(time)),
    ),
  )
  const body = element('div')
  const node = element('details', { class: 'before' }, summary, body)
  node.addEventListener('toggle', () => {
    if (node.open && !body.hasChildNodes()) open(answer, body, desk)
  })
  return node
}

function open(answer, body, desk) {
  if (answer.status !== 'done') {
    fill(body, ...unfinished(answer, desk))
    return
  }
  const parts = makeAnswer(answer.question)
  parts.title.hidden = true
  // That it was answered before is what this list says of all of them.
  showAnswer(
    parts,
    { ...answer, reused: false, reusedFrom: undefined },
    { follow: (citation) => desk.follow(citation, answer), links: desk.links },
  )
  fill(body, parts.node)
}

function unfinished(answer, desk) {
  const again = askingButton('Ask again', { class: 'plain' }, () => desk.ask(answer.question))
  const { error } = answer
  if (!error) return [element('p', {}, 'Somebody’s question; its answer is on the way.'), again]
  return [element('p', {}, [error.message, error.next].filter(Boolean).join(' ')), again]
}
