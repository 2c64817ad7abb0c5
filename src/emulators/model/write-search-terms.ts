// Writes the reply to `Task: terms`: words to look for in the code, taken from the question and from names that the prompt shows.
import type { Prompt } from './parse-prompt.js'
import { findIdentifiers, splitWords, stem, stemsOf, synonymsOf } from './word-stems.js'

const most = 16

export function writeTerms(prompt: Prompt): string {
  const asked = stemsOf(prompt.question)
  const plain = splitWords(prompt.question).filter((word) => asked.includes(stem(word)) && word.length > 2)
  const shown = [
    ...prompt.files.flatMap((file) => file.lines.map((line) => line.text)),
    ...prompt.texts.flatMap((block) => block.lines),
  ]
  const names = identifiersLike(shown, new Set(asked))
  const kin = asked.flatMap(synonymsOf)
  const terms = [...new Set([...findIdentifiers(prompt.question), ...plain, ...names, ...kin])]
  return terms.slice(0, most).join(' ').replace(/\s+/g, ' ').trim() || 'README main index'
}

/** Identifiers of several words that share one with the question, the most shared first. */
function identifiersLike(lines: string[], asked: Set<string>): string[] {
  const found = new Map<string, number>()
  for (const line of lines) {
    for (const word of line.slice(0, 2_000).match(/[A-Za-z_$][\w$]{3,60}/g) ?? []) {
      const parts = stemsOf(word)
      const shared = parts.filter((part) => asked.has(part)).length
      if (parts.length > 1 && shared > 0) found.set(word, shared)
    }
  }
  const byShare = [...found].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return byShare.slice(0, 8).map(([word]) => word)
}
