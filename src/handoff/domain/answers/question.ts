// Questions: what is taken, when two are the same, and what an answer's id is made of.
import { HandoffError } from '../errors.js'
import { cleanText } from '../markdown/clean-text.js'
import type { Depth } from './depth.js'

export const longestQuestion = 4_000
/** Characters that are parsed of a text that is too long. */
const readable = 100_000

/** The text of a question as it is kept and asked, or a sentence about why it cannot be. */
export function parseQuestion(text: string): string {
  const plain = cleanText(text.slice(0, readable)).normalize('NFC').trim()
  const length = plain.length <= longestQuestion ? plain.length : [...plain].length
  if (length === 0)
    throw new HandoffError('invalid-input', 'The question is empty.', { next: 'Ask something about the code.' })
  if (length > longestQuestion) {
    const written = (text.length > readable ? text.length : length).toLocaleString('en-US')
    const most = longestQuestion.toLocaleString('en-US')
    throw new HandoffError('invalid-input', `The question has ${written} characters; at most ${most} are taken.`, {
      next: 'Ask for less at a time, and name files instead of pasting them.',
    })
  }
  return plain
}

const openers = '"\'“‘«([{¿¡'
const closers = '"\'”’»)]}?!.,;:…？！。，；：、'
const politeness = new Set(
  'please pls plz thanks thank you thx cheers kindly bitte danke merci por favor gracias grazie obrigado'.split(' '),
)

/**
 * The words of a question, such that ways to write the same thing meet: case, spaces, punctuation around words, thanks at the end. What may
 * be code (`a.b`, `C++`, `--flag`, `#x`) keeps its signs.
 */
export function normaliseQuestion(text: string): string {
  const words = wordsOf(text)
  while (words.length > 1 && politeness.has(words.at(-1)!)) words.pop()
  return words.length > 0 ? words.join(' ') : cleanText(text).normalize('NFC').trim()
}

function wordsOf(text: string): string[] {
  const words = cleanText(text).normalize('NFC').toLowerCase().split(/\s+/)
  return words.map(bareWord).filter((word) => word !== '')
}

function bareWord(word: string): string {
  let from = 0
  let to = word.length
  while (from < to && openers.includes(word[from]!)) from++
  while (to > from && closers.includes(word[to - 1]!)) to--
  // `foo()` and `a[0]` keep the brackets that belong to them.
  const end = word.slice(to)
  const open = word.slice(from, to).match(/[([{]/g)?.length ?? 0
  return word.slice(from, to) + (open > 0 ? (/^[)\]}]+/.exec(end)?.[0].slice(0, open) ?? '') : '')
}

interface AnswerKey {
  run: string
  question: string
  model: string
  /** Normal when absent. */
  depth?: Depth | undefined
  thread?: string | undefined
  /** Set when an answer is wanted although there is one. */
  nonce?: string | undefined
}

/**
 * The id is known before the work is done, so repeating a request finds its own traces. Every part is written with its name and length, so no
 * two keys can be written alike; the first line names the version of this rule.
 */
export function answerIdOf(key: AnswerKey, sha256hex: (text: string) => string): string {
  const parts: [string, string | undefined][] = [
    ['run', key.run],
    ['question', normaliseQuestion(key.question)],
    ['model', key.model],
    ['thread', key.thread],
    ['nonce', key.nonce],
    // Ids of normal answers are as they were before there were others.
    ...((key.depth ?? 'normal') === 'normal' ? [] : [['depth', key.depth] satisfies [string, string | undefined]]),
  ]
  const written = parts.map(([name, value]) => (value === undefined ? `${name} -` : `${name} ${value.length}:${value}`))
  return sha256hex(['handoff answer 1', ...written].join('\n')).slice(0, 32)
}

/** Words that make no difference to what is asked of code. */
const idle = new Set(
  (
    'a an the this that these those is are was were be been being do does did doing i me we us you it its there ' +
    'here of in on at by for with to within inside exactly actually just tell explain describe show know understand want ' +
    'code codebase repo repository project so and hi hello hey'
  ).split(' '),
)

/**
 * True when two questions ask the same in other clothes. It would rather miss than mix: every telling word has to be in both, in the same
 * order, so a `not`, a number, another name or `A to B` for `B to A` is another question.
 */
export function nearDuplicate(a: string, b: string): boolean {
  const first = tellingWords(a)
  const second = tellingWords(b)
  if (first.length < 3 || first.length !== second.length) return normaliseQuestion(a) === normaliseQuestion(b)
  return first.every((word, index) => word === second[index])
}

function tellingWords(text: string): string[] {
  const words = normaliseQuestion(text).split(' ')
  return words.filter((word) => !idle.has(word) && !politeness.has(word)).map(stem)
}

/** Plain English words lose their endings; anything that could be a name in code stays as it is. */
function stem(word: string): string {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return word
  const bare = word.replace(/(?:ies|y)$/, 'i').replace(/(?:ing|ed|es|s)$/, '')
  return (bare.length >= 4 ? bare : word).replace(/e$/, '')
}
