// One pass over every byte of a file: where lines begin, which identifiers it has, and whether it may contain a credential. All content goes through
// here, so it is written for speed: no strings, no objects, and arrays that are reused for the next file.
import { beginsLikeCredential, mayBeginCredential } from '../../../domain/secrets/credential-patterns.js'

export interface FileScan {
  /** Lines, as an editor counts them. */
  lines: number
  longest: number
  /** The secret rules must run on this file. */
  suspicious: boolean
  /** The number of valid entries in `identifiers`. */
  identifierCount: number
  /** Hashes of the distinct identifiers of four characters and more, unordered. */
  identifiers: Int32Array
  /** Offsets of lines; the first `lines` entries are valid. */
  lineStarts: Int32Array
}

const word = 1
const digit = 2

const classes = new Uint8Array(256)
for (let code = 0; code < 256; code++) {
  const letter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 36 || code >= 128
  classes[code] = letter ? word : code >= 48 && code <= 57 ? digit : 0
}

const shortestIdentifier = 4
/** Limit of distinct identifiers; a file with more is data. */
const identifierLimit = 4_096
const slots = 1 << 14

/** Equal for a name and for an identifier with the same bytes. */
export function hashName(name: string): number {
  let hash = 0
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index)
    if (code > 127) return hashBytes(Buffer.from(name, 'utf8'))
    hash = Math.imul(hash, 0x01000193) ^ code
  }
  return hash
}

function hashBytes(bytes: Buffer): number {
  return bytes.reduce((hash, byte) => Math.imul(hash, 0x01000193) ^ byte, 0)
}

/** The result is valid until the next call. Without `collect` there are no identifiers, and it is three times as fast. */
export type IdentifierScanner = (bytes: Buffer, collect: boolean) => FileScan

export function createIdentifierScanner(): IdentifierScanner {
  const scan: FileScan = {
    lines: 0,
    longest: 0,
    suspicious: false,
    identifierCount: 0,
    identifiers: new Int32Array(identifierLimit),
    lineStarts: new Int32Array(1 << 14),
  }
  const collect = createCollector(scan)
  return (bytes, wanted) => {
    scan.identifierCount = 0
    if (wanted) collect(bytes)
    else {
      scanLines(bytes, scan)
      scan.suspicious = hasSuspiciousWord(bytes)
    }
    scan.suspicious ||= hasUrlWithPassword(bytes)
    return scan
  }
}

function scanLines(bytes: Buffer, scan: FileScan): void {
  const end = bytes.length
  let lineStarts = scan.lineStarts
  let lines = 1
  let longest = 0
  lineStarts[0] = 0
  for (let index = 0; index < end; index++) {
    if (bytes[index] !== 10) continue
    const length = index - lineStarts[lines - 1]!
    if (length > longest) longest = length
    if (lines === lineStarts.length) lineStarts = scan.lineStarts = growArray(lineStarts)
    lineStarts[lines++] = index + 1
  }
  const rest = end - lineStarts[lines - 1]!
  scan.longest = Math.max(longest, rest)
  scan.lines = rest === 0 ? lines - 1 : lines
}

/** Lines, identifiers and suspicious words in one pass. */
function createCollector(scan: FileScan): (bytes: Buffer) => void {
  const identifiers = createIdentifierSet(scan)
  return (bytes) => {
    const end = bytes.length
    let lineStarts = scan.lineStarts
    let lines = 1
    let lineStart = 0
    let longest = 0
    scan.suspicious = false
    lineStarts[0] = 0
    for (let index = 0; index < end; ) {
      const from = index
      const first = classes[bytes[index]!]!
      if (first !== 0) {
        index = takeWord(bytes, from, first, scan, identifiers)
        continue
      }
      index++
      if (bytes[from] !== 10) continue
      if (from - lineStart > longest) longest = from - lineStart
      lineStart = index
      if (lines === lineStarts.length) lineStarts = scan.lineStarts = growArray(lineStarts)
      lineStarts[lines++] = index
    }
    identifiers.reset()
    scan.longest = Math.max(longest, end - lineStart)
    scan.lines = end === lineStart ? lines - 1 : lines
  }
}

/** Takes the word that begins at `from` and returns where it ends. */
function takeWord(bytes: Buffer, from: number, first: number, scan: FileScan, identifiers: IdentifierSet): number {
  let hash = bytes[from]!
  let index = from + 1
  for (; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (classes[byte] === 0) break
    hash = Math.imul(hash, 0x01000193) ^ byte
  }
  const length = index - from
  if (length > 15 && !scan.suspicious) scan.suspicious = isSuspicious(bytes, from, index)
  if (length >= shortestIdentifier && first === word && hash !== 0) identifiers.add(hash)
  return index
}

interface IdentifierSet {
  add(hash: number): void
  reset(): void
}

/** Writes the distinct hashes to `scan.identifiers`. A reset clears only the slots that were used, which is less than the whole table. */
function createIdentifierSet(scan: FileScan): IdentifierSet {
  const table = new Int32Array(slots)
  const used = new Int32Array(identifierLimit)
  return {
    add(hash) {
      if (scan.identifierCount === identifierLimit) return
      let slot = (hash ^ (hash >>> 15)) & (slots - 1)
      while (table[slot] !== 0 && table[slot] !== hash) slot = (slot + 1) & (slots - 1)
      if (table[slot] !== 0) return
      table[slot] = hash
      used[scan.identifierCount] = slot
      scan.identifiers[scan.identifierCount++] = hash
    },
    reset() {
      for (let index = 0; index < scan.identifierCount; index++) table[used[index]!] = 0
    },
  }
}

/** A word of 16 characters covers every sixteenth offset, so most of the text is skipped. */
function hasSuspiciousWord(bytes: Buffer): boolean {
  const end = bytes.length
  for (let probe = 15; probe < end; probe += 16) {
    if (classes[bytes[probe]!] === 0) continue
    let from = probe
    while (from > 0 && classes[bytes[from - 1]!] !== 0) from--
    while (probe < end && classes[bytes[probe]!] !== 0) probe++
    if (probe - from > 15 && isSuspicious(bytes, from, probe)) return true
  }
  return false
}

/** `://user:password@` */
function hasUrlWithPassword(bytes: Buffer): boolean {
  for (let at = bytes.indexOf('://'); at >= 0; at = bytes.indexOf('://', at + 3)) {
    let colon = false
    for (let index = at + 3; index < at + 300 && index < bytes.length; index++) {
      const byte = bytes[index]!
      if (byte <= 32 || byte === 47) break
      if (byte === 58) colon = true
      if (byte === 64 && colon) return true
    }
  }
  return false
}

function growArray(array: Int32Array): Int32Array {
  const larger = new Int32Array(array.length * 2)
  larger.set(array)
  return larger
}

/** A long word that looks random, or that begins like a credential. */
function isSuspicious(bytes: Buffer, from: number, to: number): boolean {
  if (
    mayBeginCredential(bytes[from]!, bytes[from + 1]!) &&
    beginsLikeCredential(bytes.toString('latin1', from, from + 24))
  )
    return true
  return hasDigit(bytes, from, to) && looksRandom(bytes, from, to)
}

/** Most long words are names without a digit. */
function hasDigit(bytes: Buffer, from: number, to: number): boolean {
  for (let index = from; index < to; index++) if (classes[bytes[index]!] === digit) return true
  return false
}

/** In random words digits and letters alternate often; in names they do not. */
function looksRandom(bytes: Buffer, from: number, to: number): boolean {
  let digits = 0
  let changes = 0
  const end = Math.min(to, from + 200)
  for (let index = from; index < end; index++) {
    const byte = bytes[index]!
    const kind = characterKind(byte)
    if (kind === digit) digits++
    if (index > from && kind !== characterKind(bytes[index - 1]!)) changes++
  }
  return digits >= 3 || (digits > 0 && changes > (end - from) / 3)
}

/** Digit, capital or small letter. */
function characterKind(byte: number): number {
  return byte >= 48 && byte <= 57 ? digit : byte >= 65 && byte <= 90 ? 3 : 4
}
