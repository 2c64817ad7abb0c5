// What was asked about the run before, by anybody: folded, and opened one by one.
import { askingButton } from './retry-buttons.js'
import { makeAnswer, showAnswer } from './answer.js'
import { element, fill, find, focusOn } from './dom.js'
import { showProblem } from './error-panel.js'
import { ago, exactTime, withoutTurns } from './format.js'

export async function showEarlier(desk, signal, whenEmpty = nothing) {
  const list = find('earlier-list')
  list.setAttribute('aria-busy', 'true')
  fill(list, element('p', { class: 'loading' }, 'Reading earlier answers'))
  try {
    const page = await desk.service.answers(desk.place, undefined, signal)
    fill(list, page.answers.length === 0 && whenEmpty())
    add(list, page, desk, signal)
  } catch (error) {
    if (!signal.aborted && !desk.failed(error)) showProblem(list, error, () => lookAgain(desk, signal, whenEmpty))
  } finally {
    list.setAttribute('aria-busy', 'false')
  }
}

/** Reads the list once more, and leads whoever wanted it there. */
export function lookAgain(desk, signal, whenEmpty = notYet) {
  const reading = showEarlier(desk, signal, whenEmpty)
  focusOn(find('earlier-title'))
  return reading
}

const nothing = () =>
  element('p', { class: 'empty' }, 'Nothing was asked about this run yet. Yours would be the first question.')

const notYet = () => element('p', { class: 'hint' }, 'Nothing stands here yet. Look again in a while.')

function add(list, page, desk, signal) {
  const folds = page.answers.map((answer) => fold(answer, desk, signal))
  list.append(...folds)
  if (page.next) list.append(more(page.next, list, desk, signal))
  return folds
}

function more(cursor, list, desk, signal) {
  const place = element('div', { class: 'more' })
  const read = async () => {
    fill(place, element('p', { class: 'loading', role: 'status' }, 'Reading more answers'))
    try {
      const page = await desk.service.answers(desk.place, cursor, signal)
      place.remove()
      const [first] = add(list, page, desk, signal)
      first?.querySelector('summary').focus()
    } catch (error) {
      if (signal.aborted || desk.failed(error)) return
      showProblem(place, error, read)
      place.querySelector('button').focus()
    }
  }
  fill(place, element('button', { type: 'button', class: 'plain', on: { click: read } }, 'More answers'))
  return place
}

const states = { queued: 'waiting', running: 'being answered', failed: 'not answered' }

function fold(answer, desk, signal, onTheWay = 'Somebody’s question; its answer is on the way.') {
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
    if (!node.open || body.hasChildNodes()) return
    if (answer.status === 'done') open(answer, body, desk)
    else fill(body, ...unfinished(answer, desk, onTheWay, () => look(answer, { node, summary, body }, desk, signal)))
  })
  return node
}

/** What is on its way is asked for by itself. What it is by now takes its place. */
async function look(answer, { node, summary, body }, desk, signal) {
  summary.focus()
  fill(body, element('p', { class: 'loading', role: 'status' }, 'Looking'))
  try {
    const now = await desk.service.answer(desk.place, answer.id, signal)
    const made = fold(now, desk, signal, 'Looked a moment ago: its answer is still on the way.')
    made.open = true
    const held = document.activeElement === summary
    node.replaceWith(made)
    if (held) made.querySelector('summary').focus()
  } catch (error) {
    if (signal.aborted || desk.failed(error)) return
    showProblem(body, error, () => look(answer, { node, summary, body }, desk, signal))
  }
}

function open(answer, body, desk) {
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

function unfinished({ question, error }, desk, onTheWay, look) {
  const again = askingButton('Ask again', { class: 'plain' }, () => desk.ask(question))
  if (error) return [element('p', {}, [error.message, error.next].filter(Boolean).join(' ')), again]
  const button = element('button', { type: 'button', class: 'plain', on: { click: look } }, 'Look again')
  return [element('p', {}, onTheWay), element('div', { class: 'row' }, button, again)]
}
