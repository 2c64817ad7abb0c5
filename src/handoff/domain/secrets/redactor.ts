// Redacts secrets in texts that leave handoff: the keys that it holds, in their usual encodings, and credentials of known services.

import { isKey } from '../../util/key-text.js'
import { credentialsIn } from './credential-patterns.js'

export const redacted = '[redacted]'

/** A key's text lies in lines, or in one line with the line ends written out; a program that only names the header has no such line. */
const privateKey =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?=[\s\S]{0,300}?[A-Za-z0-9+/]{40})(?:[A-Za-z0-9+/=\s]|\\[nr]|[A-Za-z-]{4,20}: [^\n]{0,80}\n|["'+, ]){40,30000}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g

interface Range {
  from: number
  to: number
}

/** Replaces every secret by `[redacted]`. Doing so twice changes nothing more. */
export function makeRedactor(secrets: readonly string[]): (text: string) => string {
  const find = makeFinder(secrets)
  return (text) => replaceRanges(text, find(text), 0, text.length)
}

interface StreamRedactor {
  /** Returns what is certain to be clean by now. */
  push(piece: string): string
  /** The text is over; returns the rest. */
  end(): string
}

/** The same for a text that comes in pieces: together the output is what the whole text would have become. */
export function makeStreamRedactor(secrets: readonly string[]): StreamRedactor {
  const find = makeFinder(secrets)
  const spaced = secrets.flatMap(encodingsOf).filter((form) => /\s/.test(form))
  let pending = ''
  /** How much of `pending` is out already: its last character tells whether a word begins behind it. */
  let done = 0
  const release = (to: number) => {
    const ranges = find(pending).filter((range) => range.from >= done)
    const end = Math.min(to, ranges.find((range) => range.to > to)?.from ?? to)
    const shown = replaceRanges(pending, ranges, done, end)
    pending = pending.slice(Math.max(0, end - 1))
    done = Math.min(1, end)
    return shown
  }
  return {
    push: (piece) => {
      pending += piece
      const open = openFrom(pending, spaced)
      return open <= done ? '' : release(open)
    },
    end: () => release(pending.length),
  }
}

/** Worked out once for each list of secrets, at its first text. A list does not change. */
const finders = new WeakMap<readonly string[], (text: string) => Range[]>()

function makeFinder(secrets: readonly string[]): (text: string) => Range[] {
  const finder = finders.get(secrets) ?? newFinder(secrets)
  finders.set(secrets, finder)
  return finder
}

function newFinder(secrets: readonly string[]): (text: string) => Range[] {
  const forms = [...new Set(secrets.flatMap(encodingsOf))]
  return (text) => {
    const ranges = [...forms.flatMap((form) => placesOf(form, text)), ...matchesOf(privateKey, text)]
    for (const { pattern } of credentialsIn(text)) ranges.push(...matchesOf(pattern, text))
    return mergeRanges(ranges)
  }
}

const wordSize = 8

/** A secret shorter than `wordSize` counts only as a word of its own: inside another word it is chance. */
function placesOf(form: string, text: string): Range[] {
  const ranges: Range[] = []
  const isLetter = (at: number) => /[A-Za-z0-9]/.test(text[at] ?? '')
  for (let from = text.indexOf(form); from >= 0; from = text.indexOf(form, from + form.length)) {
    const to = from + form.length
    if (form.length >= wordSize || !(isLetter(from - 1) || isLetter(to))) ranges.push({ from, to })
  }
  return ranges
}

function matchesOf(pattern: RegExp, text: string): Range[] {
  return [...text.matchAll(pattern)].map((match) => ({ from: match.index, to: match.index + match[0].length }))
}

/** So much of a word is kept back. It is released in parts of this length, so that a long word is searched a few times only. */
const longestWord = 4_200
const longestKey = 33_000

/**
 * The place from which a text that goes on is kept back, because a secret may begin there: its last word, the last private key that has no end,
 * or the beginning of one of our keys that has spaces.
 */
function openFrom(text: string, spaced: readonly string[]): number {
  let word = text.length
  while (word > 0 && text.length - word < 2 * longestWord && !isSpace(text.charCodeAt(word - 1))) word--
  if (text.length - word === 2 * longestWord) word += longestWord
  return Math.min(word, openKey(text), ...spaced.map((form) => openForm(text, form)))
}

const isSpace = (code: number) => code === 32 || (code >= 9 && code <= 13)

function openKey(text: string): number {
  const at = text.lastIndexOf('-----BEGIN ')
  if (text.length - at > longestKey) return text.length
  const rest = text.slice(at)
  const inHeader = /-----BEGIN [A-Z0-9 ]{0,60}-{0,5}$/.test(rest)
  const inKey = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(rest) && !/-----END [A-Z0-9 ]{0,60}-----/.test(rest)
  return inHeader || inKey ? at : text.length
}

function openForm(text: string, form: string): number {
  for (
    let at = text.indexOf(form[0]!, Math.max(0, text.length - form.length + 1));
    at >= 0;
    at = text.indexOf(form[0]!, at + 1)
  )
    if (form.startsWith(text.slice(at))) return at
  return text.length
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

function replaceRanges(text: string, ranges: Range[], from: number, to: number): string {
  let result = ''
  let at = from
  for (const range of ranges) {
    if (range.to > to) continue
    result += text.slice(at, range.from) + redacted
    at = range.to
  }
  return result + text.slice(at, to)
}

// The encodings in which a key of handoff may leak: as it is, in base64, in hexadecimal, URL-encoded and JSON-escaped. Other programs cut their
// messages, so parts of a long key are found as well.

/** A part of a secret of several lines that is long enough to be looked for alone. */
const shortestPart = 12

/** All texts that give the secret away. */
function encodingsOf(secret: string): string[] {
  const bare = secret.trim().toWellFormed()
  if (!isKey(bare)) return []
  const parts = bare.replace(/-----(?:BEGIN|END) [A-Z0-9 ]+-----/g, '').split(/\s+/)
  const long = parts.filter((part) => part.length >= shortestPart)
  // Of five bytes behind another one no whole group of base64 is left.
  return [...new Set([...[bare, ...long].flatMap(encodings), ...long.flatMap(partsOf)])].filter((form) => form !== '')
}

/** Each part of a key that is twice as long as `shortestPart` contains one of these. */
function partsOf(text: string): string[] {
  if (text.length < 2 * shortestPart) return []
  return Array.from({ length: Math.floor(text.length / shortestPart) }, (_, index) =>
    text.slice(index * shortestPart, (index + 1) * shortestPart),
  )
}

function encodings(text: string): string[] {
  const hex = Buffer.from(text).toString('hex')
  const base64 = [0, 1, 2].map((shift) => base64Behind(text, shift))
  const inAddresses = base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...inAddresses,
  ]
}

/** Base64 of the text behind so many other bytes, without the groups of four that those bytes, or what follows, have a part in. */
function base64Behind(text: string, shift: number): string {
  const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(text)])
  return bytes.toString('base64').slice(shift === 0 ? 0 : 4, -4)
}
