// One question and its answer on the page, while it is being written and afterwards.
import { askingButton } from './retry-buttons.js'
import { citationButton, pendingCitation } from './citation.js'
import { element, fill, freshId } from './dom.js'
import { markdown } from './render-markdown.js'
import { ago, count, exactTime, plural, seconds, shortCommit, withoutTurns } from './format.js'

/** A place for an answer that is on its way. */
export function makeAnswer(question) {
  const id = freshId('question')
  const words = element('div', { class: 'prose words', 'aria-busy': 'true' })
  const badge = element('p', { class: 'badge', hidden: true })
  const problem = element('div', { class: 'problems' })
  const rest = element('div', { class: 'rest' })
  const slot = element('div')
  const title = element('h3', { id, tabindex: '-1' }, withoutTurns(question))
  const node = element('article', { class: 'answer', 'aria-labelledby': id }, title, badge, slot, words, problem, rest)
  return { node, title, words, badge, problem, rest, slot }
}

/**
 * Shows what is written so far: safe, but not checked, so citations are not links yet. Draws at most once a frame. What is held stays, paler, until
 * other words take its place.
 */
export function writeAlong(parts) {
  let text = ''
  let held = false
  let drawn = 0
  let cost = 0
  let waiting = false
  const draw = () => {
    waiting = false
    if (!drawn) return
    const began = performance.now()
    fill(parts.words, markdown(text, { shift: 3, pending: pendingCitation }))
    parts.words.classList.toggle('held', held)
    cost = performance.now() - began
  }
  return {
    push(piece) {
      text = held ? piece : text + piece
      held = false
      drawn = text.length
      if (waiting) return
      waiting = true
      // A long answer takes longer to draw: it is drawn less often.
      setTimeout(() => requestAnimationFrame(draw), Math.min(1_000, cost * 5))
    },
    hold() {
      held = true
      parts.words.classList.add('held')
    },
    stop() {
      drawn = 0
      parts.words.classList.remove('held')
    },
    written: () => text !== '' && !held,
  }
}

/** The checked answer. `follow(citation)` opens the lines; `again()` asks anew. */
export function showAnswer(parts, answer, { follow, again, links }) {
  const citations = answer.citations ?? []
  const sorted = citations.toSorted((a, b) => b.label.length - a.label.length)
  const places = new Map(
    sorted.map((citation) => [withoutTurns(citation.label), () => citationButton(citation, follow)]),
  )
  fill(parts.words, markdown(String(answer.text), { shift: 3, places, link: links.link }))
  parts.words.setAttribute('aria-busy', 'false')
  parts.node.dataset.answer = answer.id
  showBadge(parts.badge, answer, again)
  fill(parts.rest, notes(answer), sources(citations, follow), details(answer))
}

function showBadge(badge, answer, again) {
  const old = answer.reused || answer.reusedFrom
  badge.hidden = !old
  if (!old) return
  const near = answer.reusedFrom !== undefined ? ', in nearly the same words' : ''
  const time = element(
    'time',
    { datetime: answer.completedAt, title: exactTime(answer.completedAt) },
    ago(answer.completedAt),
  )
  const button = again && askingButton('Ask anew', { class: 'quiet' }, again)
  fill(badge, element('span', {}, `Answered before${near}, `, time), button)
}

function notes(answer) {
  const told = [
    answer.behind &&
      `The newest commit, ${shortCommit(answer.behind.head)}, has no summary yet: this is about ${shortCommit(answer.commit)}.`,
    answer.stale?.told,
    answer.truncated && 'The answer ends here because the model reached its own limit.',
    answer.unsupported > 0 &&
      `${plural(answer.unsupported, 'sentence has', 'sentences have')} no source that could be verified; look for the word “unsupported”.`,
  ]
  return told.filter(Boolean).map((text) => element('p', { class: 'note' }, text))
}

function sources(citations, follow) {
  if (citations.length === 0) return undefined
  const item = (citation) => element('li', {}, citationButton(citation, follow, true))
  return element(
    'section',
    { class: 'sources' },
    element('h4', {}, 'Rests on'),
    element('ul', {}, ...citations.slice(0, 60).map(item)),
    citations.length > 60 && element('p', { class: 'hint' }, `and ${citations.length - 60} more`),
  )
}

function details(answer) {
  const total = Date.parse(answer.completedAt) - Date.parse(answer.acceptedAt)
  const { usage, cost } = answer
  const facts = [
    ['Citations', answer.verified],
    ['Model', answer.model],
    ['Tokens', usage && `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
    ['Cost', cost && `$${cost.amount.toFixed(cost.amount < 0.1 ? 4 : 2)}`],
    ['Time', total >= 0 && seconds(total)],
    ['Steps', stepTimes(answer.seconds)],
    ['Commit', shortCommit(answer.commit)],
    ['Answer', answer.id],
  ].filter(([, value]) => value)
  const rows = facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, String(value))])
  return element(
    'details',
    { class: 'how' },
    element('summary', {}, `How this was answered: ${answer.verified ?? 'no citations'}`),
    element('dl', {}, ...rows),
  )
}

const stepTimes = (times) =>
  Object.entries(times ?? {})
    .map(([step, time]) => `${step} ${seconds(time * 1_000)}`)
    .join(', ')
