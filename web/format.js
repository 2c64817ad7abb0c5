// How the page says numbers, times and names.

export const shortCommit = (commit) => String(commit).slice(0, 7)

/** Seconds with one digit, and milliseconds where that digit would be nought: what a person can compare at a glance. */
export function seconds(milliseconds) {
  const value = Math.max(0, milliseconds) / 1_000
  if (value < 0.095) return `${Math.round(value * 1_000)} ms`
  return value < 100 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`
}

export const count = (number) => Number(number).toLocaleString('en')

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`

/** `refs/heads/main` is “main”; `refs/pull/7/head` is “pull request 7”. */
export function refName(ref) {
  if (typeof ref !== 'string') return ''
  const pull = /^refs\/pull\/(\d+)/.exec(ref)
  if (pull) return `pull request ${pull[1]}`
  return ref.replace(/^refs\/(heads|tags)\//, '')
}

const steps = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** “3 days ago”; for what is less than a minute away, “just now”. */
export function ago(time, now = Date.now()) {
  const past = (Date.parse(time) - now) / 1_000
  if (!Number.isFinite(past)) return ''
  const step = steps.find(([, size]) => Math.abs(past) >= size)
  if (!step) return 'just now'
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.round(past / step[1]), step[0])
}

export function exactTime(time) {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString('en', { dateStyle: 'long', timeStyle: 'short' })
}

/** What turns the direction of reading for whatever follows is taken out of a longer text. */
export const withoutTurns = (text) => String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')

/** Names of files and people are somebody else's: what is invisible or turns the direction of reading becomes visible. */
export const plainName = (text) => String(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd')
