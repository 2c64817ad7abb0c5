// Redacts secrets in text: the keys that handoff holds, in all encodings and in pieces of twelve characters, and everything that matches the
// pattern of a well-known credential.
//
// Twelve, because a shorter piece of a random key is worth nothing to a thief and would begin to meet ordinary words. Letters and digits are
// compared without what stands between them (up to `widestGap` signs), so spaces, dashes, quotation marks or line ends do not help either.

import { formsOf } from './encodings.js'
import { type GramFinder, gramFinder } from './ngram-index.js'
import { mayHoldShape, openShape, secretShapes } from './output-rules.js'

export const redacted = '[redacted]'

/** The longest piece of a secret that may pass. */
const gramSize = 12
/** A form this short is looked for whole. */
const shortestForm = 8
/** Between two letters of one secret there are no more signs than this. */
const widestGap = 64

interface Range {
  from: number
  to: number
}

export interface SecretFinder {
  /** Where secrets stand that begin at `from` or later, in order, not touching each other. */
  find(text: string, from?: number): Range[]
  /** The place from which a text that goes on has to be kept back, because what stands there may become a secret. */
  openFrom(text: string): number
}

/** Replaces every secret by `[redacted]`. Doing so twice changes nothing more. What it looks for is worked out at the first text. */
export function makeRedactor(secrets: readonly string[]): (text: string) => string {
  return (text) => replaceRanges(text, makeFinder(secrets).find(text), 0)
}

export interface StreamRedactor {
  /** Returns what is certain to be clean by now. */
  push(piece: string): string
  /** The text is over; returns the rest. */
  end(): string
}

/** The same for a text that comes in pieces, however it is cut: together the output is what the whole text would have become. */
export function makeStreamRedactor(secrets: readonly string[]): StreamRedactor {
  const finder = makeFinder(secrets)
  let pending = ''
  /** How much of `pending` is out already: its last character tells whether a word begins behind it. */
  let done = 0
  const release = (open: number, ranges: Range[]) => {
    const straddling = ranges.find((range) => range.from < open && range.to >= open)
    const to = straddling ? straddling.from : open
    const before = ranges.filter((range) => range.to <= to)
    const shown = replaceRanges(pending.slice(0, to), before, done)
    pending = pending.slice(Math.max(0, to - 1))
    done = Math.min(1, to)
    return shown
  }
  return {
    push: (piece) => {
      pending += piece
      const open = Math.max(done, finder.openFrom(pending))
      return open === done ? '' : release(open, finder.find(pending, done))
    },
    end: () => {
      const shown = replaceRanges(pending, finder.find(pending, done), done)
      pending = ''
      done = 0
      return shown
    },
  }
}

/** Does the text hold one of these secrets in any form, or anything shaped like a credential? */
export function containsSecret(text: string, secrets: readonly string[] = []): boolean {
  return makeFinder(secrets).find(text).length > 0
}

/** The same for many texts. */
export function makeSecretScan(secrets: readonly string[]): (text: string) => boolean {
  const finder = makeFinder(secrets)
  return (text) => finder.find(text).length > 0
}

/** Worked out once for a list, however many redactors are made of it: that takes longer than most texts. A list does not change. */
const finders = new WeakMap<readonly string[], SecretFinder>()

export function makeFinder(secrets: readonly string[]): SecretFinder {
  const finder = finders.get(secrets) ?? newFinder(secrets)
  finders.set(secrets, finder)
  return finder
}

function newFinder(secrets: readonly string[]): SecretFinder {
  const forms = secrets.map(formsOf)
  const exact = findersFor(
    forms.flatMap((form) => form.exact),
    1,
  )
  const loose = findersFor(
    forms.flatMap((form) => form.loose),
    shortestForm,
  )
  return {
    find: (text, from = 0) => {
      const ranges: Range[] = []
      for (const finder of exact) scanExact(finder, text, ranges)
      if (loose.length > 0) scanLoose(loose, text, ranges)
      if (mayHoldShape(text)) for (const { pattern } of secretShapes) scanShape(pattern, text, from, ranges)
      return mergeRanges(ranges.filter((range) => range.from >= from))
    },
    openFrom: (text) => Math.min(lastLetters(text, gramSize), openShape(text)),
  }
}

/** One finder for all forms that are long enough to be found in pieces, and one for each shorter length. */
function findersFor(forms: string[], shortest: number): GramFinder[] {
  const sizes = new Map<number, string[]>()
  for (const form of forms) {
    const size = Math.min(gramSize, form.length)
    if (size >= shortest) sizes.set(size, [...(sizes.get(size) ?? []), form])
  }
  return [...sizes].map(([size, texts]) => gramFinder(size, texts))
}

/** What stands before `from` is looked at, to know whether a word begins there, but nothing is found in it. */
function scanShape(pattern: RegExp, text: string, from: number, ranges: Range[]): void {
  const scanner = new RegExp(pattern)
  scanner.lastIndex = from
  for (let match = scanner.exec(text); match; match = scanner.exec(text)) {
    ranges.push({ from: match.index, to: scanner.lastIndex })
  }
}

const wordSize = 8

/** A secret shorter than `wordSize` counts only as a word of its own: inside another word it is chance. */
function scanExact(finder: GramFinder, text: string, ranges: Range[]): void {
  const isLetter = (at: number) => /[A-Za-z0-9]/.test(text[at] ?? '')
  finder.scan(text, (from) => {
    const to = from + finder.size
    if (finder.size < wordSize && (isLetter(from - 1) || isLetter(to))) return
    ranges.push({ from, to })
  })
}

/** Forwards and backwards: that costs a text less than a list of everything backwards costs before the first one. */
function scanLoose(finders: GramFinder[], text: string, ranges: Range[]): void {
  const { letters, backwards, places } = lettersIn(text)
  for (const { size, scan } of finders) {
    const found = (at: number) => ranges.push({ from: places[at]!, to: places[at + size - 1]! + 1 })
    scan(letters, found)
    scan(backwards, (at) => found(letters.length - at - size))
  }
}

/** Letters and digits in small letters, with where each stood; a gap that is too wide leaves a sign that no secret has. */
function lettersIn(text: string): { letters: string; backwards: string; places: Int32Array } {
  const codes = new Uint8Array(text.length + 1)
  const places = new Int32Array(text.length + 1)
  let length = 0
  let gap = 0
  for (let at = 0; at < text.length; at++) {
    const code = smallLetter(text.charCodeAt(at))
    gap = code === 0 ? gap + 1 : 0
    if (code === 0 && gap !== widestGap) continue
    codes[length] = code
    places[length] = at
    length++
  }
  const decoder = new TextDecoder('latin1')
  const read = codes.subarray(0, length)
  return { letters: decoder.decode(read), backwards: decoder.decode(read.reverse()), places }
}

/** The code of a letter in its small form or of a digit; 0 for everything else. */
function smallLetter(code: number): number {
  if ((code >= 97 && code <= 122) || (code >= 48 && code <= 57)) return code
  return code >= 65 && code <= 90 ? code + 32 : 0
}

/** Where the last letters begin that a secret may still grow from: one fewer than are enough to know it. */
function lastLetters(text: string, enough: number): number {
  let missing = enough - 1
  let gap = 0
  let from = text.length
  for (let at = text.length - 1; at >= 0 && missing > 0 && gap < widestGap; at--) {
    const isLetter = smallLetter(text.charCodeAt(at)) !== 0
    gap = isLetter ? 0 : gap + 1
    if (isLetter) missing--
    from = at
  }
  return from
}

function mergeRanges(ranges: Range[]): Range[] {
  const merged: Range[] = []
  for (const range of ranges.sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last && range.from <= last.to) last.to = Math.max(last.to, range.to)
    else merged.push({ ...range })
  }
  return merged
}

function replaceRanges(text: string, ranges: Range[], from: number): string {
  let result = ''
  let at = from
  for (const range of ranges) {
    result += text.slice(at, range.from) + redacted
    at = range.to
  }
  return result + text.slice(at)
}
