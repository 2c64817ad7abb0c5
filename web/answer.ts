// One question and its answer on the page, while the model writes it and afterwards.
import { announce } from './announce.js'
import type { Answer } from './api-types.js'
import { citationButton, sourceButton } from './citation.js'
import { copyButton } from './copy-button.js'
import { button, type Child, element, fill, uniqueId } from './dom.js'
import { showProblem } from './error-panel.js'
import { count, exactTime, plural, seconds, shortCommit, timeAgo, withoutBidi } from './format.js'
import { addressOf } from './page-address.js'
import { renderBlocks } from './render-blocks.js'
import { askAgainButton } from './retry-buttons.js'
import type { RunView } from './run-view.js'

export type AnswerParts = ReturnType<typeof createAnswer>

/** The place of an answer, without its words. */
export function createAnswer(question: string) {
  const id = uniqueId('question')
  const words = element('div', { class: 'prose words', 'aria-busy': 'true' })
  const badge = element('p', { class: 'badge', hidden: true })
  const problem = element('div', { class: 'problems' })
  const rest = element('div', { class: 'rest' })
  const slot = element('div')
  const title = element('h3', { id, tabindex: '-1' }, withoutBidi(question))
  const node = element('article', { class: 'answer', 'aria-labelledby': id }, title, slot, badge, words, problem, rest)
  return { node, title, words, badge, problem, rest, slot }
}

/** Shows the checked answer. */
export function showAnswer(parts: AnswerParts, answer: Answer, view: RunView): void {
  const citations = new Map(answer.citations.map((citation) => [citation.label, citation]))
  const citation = (label: string) => {
    const found = citations.get(label)
    return found && citationButton(found, answer, view)
  }
  fill(parts.words, renderBlocks(answer.blocks, { shift: 3, link: view.link, citation }))
  parts.words.setAttribute('aria-busy', 'false')
  parts.node.dataset['answer'] = answer.id
  fill(parts.rest, notes(answer), sources(answer, view), actions(answer, view), details(answer))
}

/** Says of an answer to a question asked now that it is a stored one, and offers to ask anew. */
export function showReuse({ badge }: AnswerParts, answer: Answer, askAnew: () => void): void {
  const isStored = answer.reused || answer.reusedFrom !== undefined
  badge.hidden = !isStored
  if (!isStored) return
  const near = answer.reusedFrom === undefined ? '' : ', in nearly the same words'
  const { completedAt } = answer
  const time = element('time', { datetime: completedAt, title: exactTime(completedAt) }, timeAgo(completedAt))
  const again = askAgainButton('Ask anew', { class: 'quiet' }, askAnew)
  fill(badge, element('span', {}, `Answered before${near}, `, time), again)
}

function actions(answer: Answer, view: RunView): Child {
  const address = new URL(addressOf({ ...view.place, answer: answer.id }), location.href).href
  return element(
    'div',
    { class: 'doing' },
    copyButton('Copy link', () => address, 'plain'),
    copyButton('Copy answer', () => answer.text, 'plain'),
    feedback(answer, view),
  )
}

/** The word is kept beside the answer. The button of the word that is kept is pressed. */
function feedback(answer: Answer, view: RunView): Child {
  const words = [true, false]
  const press = (own: boolean | undefined) => {
    for (const [index, one] of buttons.entries()) one.setAttribute('aria-pressed', String(words[index] === own))
  }
  const buttons = words.map((useful) =>
    button(useful ? 'Useful' : 'Not useful', { class: 'plain' }, async () => {
      try {
        await view.client.judge(view.place, answer.id, useful, view.signal)
        press(useful)
        fill(place)
        announce('Your feedback is kept.')
      } catch (error) {
        if (!view.signal.aborted && !view.handleSignOut(error)) showProblem(place, error)
      }
    }),
  )
  const place = element('div', { class: 'problems' })
  press(answer.feedback?.own)
  return element('span', { class: 'row' }, buttons, place)
}

function notes(answer: Answer): Child[] {
  const { behind, stale, truncated, unsupported, commit } = answer
  const sentences = [
    behind &&
      `The newest commit, ${shortCommit(behind.head)}, has no summary yet: this is about ${shortCommit(commit)}.`,
    stale?.told,
    truncated && 'The answer ends here because the model reached its own limit.',
    unsupported > 0 &&
      `${plural(unsupported, 'sentence has', 'sentences have')} no source that could be verified; look for the word “unsupported”.`,
  ]
  return sentences.map((text) => text && element('p', { class: 'note' }, text))
}

const mostSources = 60

/** Each with what became of its lines, where that is known. */
function sources(answer: Answer, view: RunView): Child {
  const { citations, stale } = answer
  if (citations.length === 0) return undefined
  const since = new Map(stale?.citations.map(({ label, verdict }) => [label, verdict]))
  const items = citations.slice(0, mostSources).map((one) => {
    const verdict = since.get(one.label)
    return element('li', {}, sourceButton(one, answer, view), verdict && ` ${verdict}`)
  })
  const more = citations.length - mostSources
  return element(
    'section',
    { class: 'sources' },
    element('h4', {}, 'Rests on'),
    element('ol', {}, items),
    more > 0 && element('p', { class: 'hint' }, `and ${more} more`),
  )
}

function details(answer: Answer): Child {
  const { usage, cost, acceptedAt, completedAt, feedback } = answer
  const total = Date.parse(completedAt) - Date.parse(acceptedAt)
  const facts: [string, string | false | undefined][] = [
    ['Citations', answer.verified],
    ['Model', answer.model],
    ['Tokens', usage && `${count(usage.inputTokens)} in, ${count(usage.outputTokens)} out`],
    ['Cost', cost && `$${cost.amount.toFixed(cost.amount < 0.1 ? 4 : 2)}`],
    ['Time', total >= 0 && seconds(total)],
    ['Steps', stepTimes(answer.seconds)],
    ['Readers', feedback && `useful to ${feedback.useful}, not useful to ${feedback.notUseful}`],
    ['Commit', shortCommit(answer.commit)],
    ['Answer', answer.id],
  ]
  const rows = facts.flatMap(([name, value]) =>
    value ? [element('dt', {}, name), element('dd', {}, String(value))] : [],
  )
  const summary = element('summary', {}, `How this was answered: ${answer.verified ?? 'no citations'}`)
  return element('details', { class: 'how' }, summary, element('dl', {}, rows))
}

const stepTimes = (times: Record<string, number> | undefined) =>
  Object.entries(times ?? {})
    .map(([step, time]) => `${step} ${seconds(time * 1_000)}`)
    .join(', ')
