// Reads arguments as the real program does: flags first, `-name` or `--name`, the value after `=` or as the next word, then the rest.
import { readFileSync } from 'node:fs'

/** What ends a command: a sentence for standard error (none when all has been said) and the exit code. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number, message = '') {
    super(message)
    this.code = code
  }
}

/** What the program says when it ends because of this, and with which code. */
export function ending(command: string | undefined, error: unknown): { text: string; code: number } {
  const message = error instanceof Error ? error.message : String(error)
  const isUsage = error instanceof Exit && error.code === 2
  const text = message === '' || isUsage ? message : `${command}: ${message}\n`
  return { text, code: error instanceof Exit ? error.code : 1 }
}

export type FlagKind = 'switch' | 'text' | 'duration' | 'number' | 'list'

export interface Arguments {
  rest: string[]
  isSet(name: string): boolean
  text(name: string): string | undefined
  list(name: string): string[]
  /** Milliseconds. */
  duration(name: string): number | undefined
}

export function parseArguments(words: string[], flags: Record<string, FlagKind>, usage: string): Arguments {
  const values = new Map<string, string[]>()
  const rest = [...words]
  while (rest[0] !== undefined && /^-./.test(rest[0])) {
    const word = rest.shift() ?? ''
    if (word === '--') break
    readFlag(word, rest, flags, values, usage)
  }
  return {
    rest,
    isSet: (name) => values.has(name) && values.get(name)?.at(-1) !== 'false',
    text: (name) => values.get(name)?.at(-1),
    list: (name) => values.get(name) ?? [],
    duration: (name) => {
      const text = values.get(name)?.at(-1)
      return text === undefined ? undefined : parseDuration(text)
    },
  }
}

function readFlag(
  word: string,
  rest: string[],
  flags: Record<string, FlagKind>,
  values: Map<string, string[]>,
  usage: string,
): void {
  const [, name = '', inline] = /^--?([^=]+)(?:=(.*))?$/s.exec(word) ?? []
  const kind = flags[name]
  if (kind === undefined) {
    if (name === 'h' || name === 'help') throw new Exit(0, usage)
    throw new Exit(2, `flag provided but not defined: -${name}\n${usage}`)
  }
  const value = inline ?? (kind === 'switch' ? 'true' : rest.shift())
  if (value === undefined) throw new Exit(2, `flag needs an argument: -${name}\n${usage}`)
  if (!fits(kind, value)) throw new Exit(2, `invalid value "${value}" for flag -${name}\n${usage}`)
  values.set(name, [...(values.get(name) ?? []), value])
}

function fits(kind: FlagKind, value: string): boolean {
  if (kind === 'switch') return value === 'true' || value === 'false'
  if (kind === 'duration') return parseDuration(value) !== undefined
  return kind !== 'number' || /^-?\d+(\.\d+)?$/.test(value)
}

const units: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** `1h30m`, `500ms`, `0`; undefined when it is not a duration. */
function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const sign = text.startsWith('-') ? -1 : 1
  const parts = [...text.replace(/^[+-]/, '').matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)]
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text.replace(/^[+-]/, '')) return undefined
  return sign * parts.reduce((sum, part) => sum + Number(part[1]) * (units[part[2] ?? ''] ?? 0), 0)
}

/** `:/a/b` is remote, everything else is local; `-` is standard input or output. */
export function remoteOf(word: string): string | undefined {
  return word.startsWith(':') ? `/${word.slice(1).replace(/^\/+/, '')}` : undefined
}

/** What the real program prints of itself; `version: local` is how one knows which one is on the PATH. */
export const version = readFileSync(new URL('version.txt', import.meta.url), 'utf8')
