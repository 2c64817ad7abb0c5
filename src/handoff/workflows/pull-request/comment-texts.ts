// What the comment with an answer says until the answer is there, and when there is none.
import type { Target } from '../../domain/answers/parse-ask-comment.js'
import { isHandoffError } from '../../domain/errors.js'
import type { GitHub } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'

export interface CommentTarget {
  github: GitHub
  target: Target
  /** The question's text, shown above the progress until the answer replaces it. */
  question: string
  /** The login of the asker, if known. */
  asker?: string
  /** Turns any text into safe Markdown without mentions, links and tags. */
  harmless: (text: string) => string
  /** The page of the workflow run, if there is one. */
  link?: string
  clock: Clock
  /** Called with a sentence about a failure that does not end the conversation. */
  onNotice: (text: string) => void
}

/** GitHub mails the first version of a comment only, so one without an answer names the asker, the question and the place of the answer. */
export const firstText = 'The answer will stand in this comment; GitHub sends no second mail for it.'

export function workingText(voice: CommentTarget, progress: string): string {
  const asker = voice.asker === undefined ? '' : `**${voice.harmless(voice.asker)}** asks:\n\n`
  return `${asker}${quoted(voice)}\n\n⏳ ${progress}${linkTo(voice)}`
}

export function failureText(voice: CommentTarget, error: unknown): string {
  if (stateOf(error) === 'cancelled') {
    return `${quoted(voice)}\n\n🛑 This was stopped before there was an answer. Ask again to start anew.${linkTo(voice)}`
  }
  const { message, next } = publicError(error)
  const advice = next === undefined ? '' : `\n\n${voice.harmless(next)}`
  return `${quoted(voice)}\n\n😕 There is no answer. ${voice.harmless(message)}${advice}${linkTo(voice)}`
}

const longestQuote = 500

function quoted({ question, harmless }: CommentTarget): string {
  const shown = question.length > longestQuote ? `${question.slice(0, longestQuote)}…` : question
  return harmless(shown.toWellFormed().trim())
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
}

const linkTo = ({ link }: CommentTarget) => (link === undefined ? '' : `\n\n[Watch the work](${link})`)

export const stateOf = (error: unknown) => (isHandoffError(error, 'cancelled') ? 'cancelled' : 'failed')

/** The message of another error class is not shown, because it may hold a secret. */
export function publicError(error: unknown): { message: string; next?: string | undefined } {
  if (isHandoffError(error)) return error
  return { message: 'Something went wrong inside handoff.', next: 'The log of the work has the details.' }
}
