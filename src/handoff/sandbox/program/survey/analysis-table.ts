// What was found out about every distinct file, kept by its blob: the same file is never looked into twice, not in one survey and, when the
// store of an earlier survey is handed in, not in the next one either.
//
// Written down it is one block of bytes: a line of text for each file, then all hashes as 32-bit numbers. Reading it back costs a split.
import type { Definition, SecretPlace } from '../../../domain/survey.js'
import type { Nature } from './decode-text.js'

/** Goes up whenever the same bytes would be described otherwise; an older store is then of no use. */
const version = 'handoff survey store 2'

export interface Analysis {
  nature: Nature
  /** The grammar that was used: what the name said, or the first line of a script. */
  grammar: string
  /** Whether it is UTF-8; other text is shown as well as can be. */
  encoding: 'utf-8' | 'utf-16' | 'unknown'
  /** The line that tells most in one line, and its number; 0 when there is none. */
  telling: { line: number; text: string }
  /** JSON of `Definition[]`, as it goes into the outline. */
  outline: string
  secrets: Pick<SecretPlace, 'line' | 'rule'>[]
  /** All rules were asked of it, and it has no credential. */
  clean: boolean
  /** Where its hashes are in the pool: identifiers in [from, names), pairs of name and quality in [names, to). */
  from: number
  names: number
  to: number
}

export type Draft = Omit<Analysis, 'from' | 'names' | 'to' | 'outline'> & { definitions: Definition[] }

export interface Store {
  /** The analyses in the order in which they were added or taken over. */
  records: Analysis[]
  pool: () => Int32Array
  /** -1 when nothing is known of it. */
  find: (key: string) => number
  add: (key: string, draft: Draft, identifiers: Int32Array, names: Int32Array) => number
  encode: () => Buffer
  /** An earlier store was given and could not be read. */
  refused: boolean
}

/** Begins with what an earlier survey knew. A store that cannot be read is as good as none. */
export function openStore(earlier?: Uint8Array): Store {
  const known = earlier ? decode(Buffer.from(earlier.buffer, earlier.byteOffset, earlier.byteLength)) : undefined
  const keys: string[] = []
  const places = new Map<string, number>()
  const records: Analysis[] = []
  let pool = known?.pool ?? new Int32Array(1 << 16)
  let filled = known?.pool.length ?? 0

  const keep = (key: string, record: Analysis) => {
    keys.push(key)
    places.set(key, records.length)
    return records.push(record) - 1
  }
  const reserve = (count: number) => {
    if (filled + count <= pool.length) return
    const larger = new Int32Array(Math.max(pool.length * 2, filled + count))
    larger.set(pool.subarray(0, filled))
    pool = larger
  }

  return {
    refused: earlier !== undefined && known === undefined,
    records,
    pool: () => pool,
    find(key) {
      const place = places.get(key)
      if (place !== undefined) return place
      const line = known?.lines.get(key)
      const record = line === undefined ? undefined : parseRecord(line, known!.pool.length)
      return record ? keep(key, record) : -1
    },
    add(key, draft, identifiers, names) {
      reserve(identifiers.length + names.length)
      pool.set(identifiers, filled)
      pool.set(names, filled + identifiers.length)
      const { definitions, ...rest } = draft
      const middle = filled + identifiers.length
      const record = {
        ...rest,
        outline: JSON.stringify(definitions),
        from: filled,
        names: middle,
        to: middle + names.length,
      }
      filled = record.to
      return keep(key, record)
    },
    encode: () => encode(keys, records, pool),
  }
}

// ── written down ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Known {
  lines: Map<string, string>
  pool: Int32Array
}

/** Only what this survey used: what is gone from the repository is gone from here. */
function encode(keys: string[], records: Analysis[], pool: Int32Array): Buffer {
  const total = records.reduce((sum, record) => sum + record.to - record.from, 0)
  const numbers = new Int32Array(total)
  let filled = 0
  const lines = records.map((record, index) => {
    numbers.set(pool.subarray(record.from, record.to), filled)
    const line = formatRecord(keys[index]!, record, filled)
    filled += record.to - record.from
    return line
  })
  const text = Buffer.from(lines.join('\n'), 'utf8')
  const head = Buffer.from(`${version}\n${text.length} ${total}\n`, 'latin1')
  return Buffer.concat([head, text, Buffer.from(numbers.buffer)])
}

function formatRecord(key: string, record: Analysis, from: number): string {
  const { nature, grammar, encoding, telling, secrets, clean, outline } = record
  const sizes = [from, record.names - record.from, record.to - record.names, telling.line, clean ? 1 : 0]
  return [
    key,
    nature,
    grammar,
    encoding,
    ...sizes,
    JSON.stringify(telling.text),
    JSON.stringify(secrets),
    outline,
  ].join('\t')
}

function decode(bytes: Buffer): Known | undefined {
  const firstEnd = bytes.indexOf(10)
  const secondEnd = bytes.indexOf(10, firstEnd + 1)
  if (firstEnd < 0 || secondEnd < 0 || bytes.toString('latin1', 0, firstEnd) !== version) return undefined
  const [textLength = -1, count = -1] = bytes
    .toString('latin1', firstEnd + 1, secondEnd)
    .split(' ')
    .map(Number)
  const start = secondEnd + 1
  if (!(textLength >= 0 && count >= 0) || bytes.length !== start + textLength + count * 4) return undefined
  const pool = new Int32Array(count)
  Buffer.from(pool.buffer).set(bytes.subarray(start + textLength))
  const lines = new Map<string, string>()
  if (textLength > 0) {
    for (const line of bytes.toString('utf8', start, start + textLength).split('\n'))
      lines.set(line.slice(0, line.indexOf('\t')), line)
  }
  return { lines, pool }
}

function parseRecord(line: string, poolLength: number): Analysis | undefined {
  const [, nature, grammar, encoding, from, identifiers, names, tellingLine, clean, text, secrets, outline] =
    line.split('\t')
  const start = Number(from)
  const middle = start + Number(identifiers)
  const end = middle + Number(names)
  if (outline === undefined || !(start >= 0 && middle >= start && end >= middle && end <= poolLength)) return undefined
  return {
    nature: nature as Nature,
    grammar: grammar!,
    encoding: encoding as Analysis['encoding'],
    telling: { line: Number(tellingLine), text: text === '""' ? '' : (JSON.parse(text!) as string) },
    secrets: secrets === '[]' ? [] : (JSON.parse(secrets!) as Analysis['secrets']),
    clean: clean === '1',
    outline,
    from: start,
    names: middle,
    to: end,
  }
}
