// How the page writes numbers, times and names.

export const shortCommit = (commit: string) => String(commit).slice(0, 7)

/** Seconds with one digit; milliseconds where that digit would be zero. */
export function seconds(milliseconds: number): string {
  const value = Math.max(0, milliseconds) / 1_000
  if (value < 0.095) return `${Math.round(value * 1_000)} ms`
  return value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`
}

export const count = (number: number) => Number(number).toLocaleString('en')

export const plural = (number: number, one: string, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`

/** `refs/heads/main` is “main”; `refs/pull/7/head` is “pull request 7”. */
export function refName(ref: unknown): string {
  if (typeof ref !== 'string') return ''
  const pull = /^refs\/pull\/(\d+)/.exec(ref)
  return pull ? `pull request ${pull[1]}` : ref.replace(/^refs\/(heads|tags)\//, '')
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** “3 days ago”; “just now” for less than a minute. */
export function timeAgo(time: string, now = Date.now()): string {
  const past = (Date.parse(time) - now) / 1_000
  if (!Number.isFinite(past)) return ''
  const unit = units.find(([, size]) => Math.abs(past) >= size)
  if (!unit) return 'just now'
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.round(past / unit[1]), unit[0])
}

export function exactTime(time: string): string {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString('en', { dateStyle: 'long', timeStyle: 'short' })
}

/** Removes the characters that turn the direction of reading. For longer texts. */
export const withoutBidi = (text: unknown) =>
  String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

/** Makes invisible characters and those that turn the direction of reading visible. For names of files and people. */
export const plainName = (text: unknown) => String(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd')
