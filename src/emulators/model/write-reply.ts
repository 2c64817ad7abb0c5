// Decides what the local model says to a prompt.

import type { ActiveBehaviours, WordsBehaviour } from './behaviour.js'
import { forgeCitations } from './forged-citations.js'
import { countPieces, type Prompt } from './parse-prompt.js'
import { findInjections, obeyInjection } from './prompt-injection.js'
import { stemsOf } from './word-stems.js'
import { citation, writeAnswer } from './write-answer.js'
import { writeChange } from './write-change.js'
import { writeComparison } from './write-comparison.js'
import { writeTerms } from './write-search-terms.js'
import { writePart, writeSummary, writeUpdate } from './write-summary.js'

export interface WrittenReply {
  text: string
  /** Thoughts that go in a field of their own. */
  reasoning: string
  finish: 'stop' | 'length' | 'content_filter'
}

interface TokenLimits {
  /** The limit that the request sets. */
  maxTokens: number
  /** What of it is left for text, when thinking and the context have had theirs. */
  remaining: number
}

/**
 * Bytes for each token of the limit. English prose with names and paths takes three and a half in any vocabulary we measured, so that the
 * reply stays under the limit by whatever count.
 */
const bytesPerToken = 2.5

/** How long a reply is at most, in bytes, however much the limit allows: about what the instructions ask for. */
const usualBytes: Record<string, number> = {
  part: 1_750,
  combine: 2_250,
  summary: 7_500,
  update: 2_000,
  answer: 5_000,
  compare: 5_000,
  change: 2_000,
}

/** A model does not know what is left: it writes as if all of its limit were, and is cut. */
export function writeReply(
  prompt: Prompt,
  behaviours: ActiveBehaviours,
  { maxTokens, remaining: left }: TokenLimits,
): WrittenReply {
  const honest = writeHonestReply(prompt, maxTokens)
  const text = applyBehaviour(honest, prompt, behaviours.words)
  const thoughts =
    behaviours.words?.kind === 'think' && behaviours.words.where === 'field' ? 'Let me look at the pieces first. ' : ''
  const unlimited = behaviours.words !== undefined && behaviours.words.kind !== 'think'
  if (behaviours.sending?.kind === 'too-long') return { text: half(text), reasoning: thoughts, finish: 'length' }
  if (behaviours.sending?.kind === 'filtered')
    return { text: half(text), reasoning: thoughts, finish: 'content_filter' }
  if (left <= 0) return { text: '', reasoning: thoughts, finish: 'length' }
  if (unlimited || countPieces(text) <= left) return { text, reasoning: thoughts, finish: 'stop' }
  return { text: cutToPieces(text, left), reasoning: thoughts, finish: 'length' }
}

function writeHonestReply(prompt: Prompt, maxTokens: number): string {
  const maxBytes = Math.min(usualBytes[prompt.task] ?? 5_000, Math.max(1, Math.floor(maxTokens * bytesPerToken)))
  switch (prompt.task) {
    case 'answer':
      return writeAnswer(prompt, maxBytes)
    case 'compare':
      return writeComparison(prompt, maxBytes)
    case 'change':
      return writeChange(prompt, maxBytes)
    case 'terms':
      return writeTerms(prompt)
    case 'choose':
      return writeChoice(prompt)
    case 'part':
    case 'combine':
      return writePart(prompt, maxBytes)
    case 'summary':
      return writeSummary(prompt, maxBytes)
    case 'update':
      return writeUpdate(prompt, maxBytes)
    default:
      return 'This is the offline model. It quotes what it was shown and writes nothing of its own; for this task it has no words.'
  }
}

function applyBehaviour(honest: string, prompt: Prompt, words: WordsBehaviour | undefined): string {
  switch (words?.kind) {
    case 'say':
      return words.text
    case 'silent':
      return ''
    case 'forge':
      return forgeCitations(honest, words.how, prompt)
    case 'ask-more':
      return ['MORE', ...(words.requests ?? requestsForMore(prompt))].join('\n')
    case 'flood':
      return 'The stream goes on. '.repeat((words.characters ?? 200_000) / 20)
    case 'think':
      return words.where === 'text' ? `<think>\nLet me look [[first:1 "thing"]].\n</think>\n\n${honest}` : honest
    case 'obey': {
      const orders = findInjections(prompt)
      return orders.length > 0 || words.always
        ? `${honest}\n\n${cited(obeyInjection(prompt, orders, words.plants ?? []), prompt)}`
        : honest
    }
    default:
      return honest
  }
}

/** A sentence of a summary needs a citation, and is not read below the heading of the words: what is planted has the one and not the other. */
function cited(text: string, { task, files }: Prompt): string {
  const [file] = files
  if (!file || task === 'answer' || task === 'compare') return text
  const paragraphs = text.replaceAll('\n## Words\n', '\n').split('\n\n')
  return paragraphs.map((paragraph) => `${paragraph} ${citation(file, file.lines.slice(0, 1))}`).join('\n\n')
}

/** The numbers of the cards that share most words with the question. */
function writeChoice(prompt: Prompt): string {
  const asked = new Set(stemsOf(prompt.question))
  const cards = prompt.texts.find(({ kind }) => kind === 'cards')?.lines ?? []
  const shared = cards.map((card, index) => ({
    number: index + 1,
    words: new Set(stemsOf(card).filter((word) => asked.has(word))).size,
  }))
  const best = shared.filter(({ words }) => words > 0).sort((a, b) => b.words - a.words || a.number - b.number)
  return (
    best
      .slice(0, 5)
      .map(({ number }) => number)
      .join(' ') || '0'
  )
}

/** What a curious model would ask for: more of the first file, the question's words, the top directory. */
function requestsForMore(prompt: Prompt): string[] {
  const first = prompt.files[0]
  const last = first?.lines.at(-1)?.number ?? 1
  const read = first === undefined ? [] : [`read ${JSON.stringify(first.path)} ${last + 1}-${last + 80}`]
  return [...read, `search ${writeTerms(prompt).split(' ').slice(0, 4).join(' ')}`, 'list ""']
}

const half = (text: string) => text.slice(0, Math.ceil(text.length / 2))

function cutToPieces(text: string, pieces: number): string {
  let end = text.length
  while (end > 0 && countPieces(text.slice(0, end)) > pieces) end = Math.floor(end * 0.9)
  return text.slice(0, end)
}
