// One look at every byte of a file: where its lines begin, which identifiers it has, and whether it may hold a credential. Everything that is
// read goes through here, so this is the one place that is written for speed: no strings, no objects, and the results stay in arrays that
// are used again for the next file.

export interface Scan {
  /** Lines, as an editor counts them. */
  lines: number
  longest: number
  /** Something in it is worth a look by the rules of secrets.ts. */
  suspicious: boolean
  /** How many of `identifiers` are this file's. */
  identifierCount: number
  /** Hashes of the distinct identifiers of four characters and more, in no order that means anything. */
  identifiers: Int32Array
  /** Where lines begin; `lines` of them are this file's. */
  lineStarts: Int32Array
}

const word = 1
const digit = 2

const classes = new Uint8Array(256)
for (let code = 0; code < 256; code++) {
  const letter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95 || code === 36 || code >= 128
  classes[code] = letter ? word : code >= 48 && code <= 57 ? digit : 0
}

/** Distinct identifiers that are kept of one file; a file with more is a table. */
const identifierLimit = 4_096
const slots = 1 << 14

/** The same for a name and for the identifier that means it. */
export function hashName(name: string): number {
  const bytes = Buffer.from(name, 'utf8')
  let hash = 0
  for (let index = 0; index < bytes.length; index++) hash = Math.imul(hash, 0x01000193) ^ bytes[index]!
  return hash
}

/** The result is good until the next call. */
export function createScanner(): (bytes: Buffer, collect: boolean) => Scan {
  const seen = new Int32Array(slots)
  const stamps = new Int32Array(slots)
  let stamp = 0
  const scan: Scan = {
    lines: 0,
    longest: 0,
    suspicious: false,
    identifierCount: 0,
    identifiers: new Int32Array(identifierLimit),
    lineStarts: new Int32Array(1 << 14),
  }

  return (bytes, collect) => {
    stamp++
    scan.suspicious = false
    const end = bytes.length
    const identifiers = scan.identifiers
    let lineStarts = scan.lineStarts
    let found = collect ? 0 : identifierLimit
    let lines = 1
    let lineStart = 0
    let longest = 0
    let address = -1_000
    let hash = 0
    let length = 0
    lineStarts[0] = 0
    // One step past the end, so that the last word ends like every other.
    for (let index = 0; index <= end; index++) {
      const byte = index < end ? bytes[index]! : 32
      if (classes[byte] !== 0) {
        hash = Math.imul(hash, 0x01000193) ^ byte
        length++
        continue
      }
      if (length > 3) {
        if (length > 15 && !scan.suspicious && isSuspicious(bytes, index - length, index)) scan.suspicious = true
        if (found < identifierLimit && classes[bytes[index - length]!] === word) {
          let slot = (hash ^ (hash >>> 15)) & (slots - 1)
          while (stamps[slot] === stamp && seen[slot] !== hash) slot = (slot + 1) & (slots - 1)
          if (stamps[slot] !== stamp) {
            stamps[slot] = stamp
            seen[slot] = hash
            identifiers[found++] = hash
          }
        }
      }
      hash = 0
      length = 0
      if (byte === 10) {
        if (index - lineStart > longest) longest = index - lineStart
        lineStart = index + 1
        if (lines === lineStarts.length) lineStarts = scan.lineStarts = doubled(lineStarts)
        lineStarts[lines++] = lineStart
      } else if (byte === 47 && bytes[index - 1] === 47 && bytes[index - 2] === 58) address = index
      // `://somebody:something@`
      else if (byte === 64 && index - address < 300) scan.suspicious = true
    }
    if (end - lineStart > longest) longest = end - lineStart
    scan.lines = lineStart === end ? lines - 1 : lines
    scan.longest = longest
    scan.identifierCount = collect ? found : 0
    return scan
  }
}

function doubled(array: Int32Array): Int32Array {
  const larger = new Int32Array(array.length * 2)
  larger.set(array)
  return larger
}

/** How tokens of known services begin; the first four bytes of a long word are enough to ask the rules. */
const beginnings = new Set(
  (
    'AKIA ASIA ABIA ACCA ghp_ gho_ ghu_ ghs_ ghr_ gith sk_l sk_t rk_l rk_t whse npm_ AIza eyJh eyJ0 eyJr eyJ1 eyJi ' +
    'dop_ doo_ dor_ shpa shpc shpp shps e2b_ driv dat9'
  ).split(' '),
)

const nearby =
  /secret|token|passw|passphrase|pwd|key|credential|auth|glpat-|glptt-|gldt-|glrt-|glcbt-|xox[a-z]-|xapp-|sk-|pypi-|GOCSPX|ya29|SG\.|hooks\.slack|PRIVATE KEY|hf_|SK[0-9a-f]/i

/** A long word that looks random, and something near it that says it is secret. */
function isSuspicious(bytes: Buffer, from: number, to: number): boolean {
  if (beginnings.has(bytes.toString('latin1', from, from + 4))) return true
  if (!looksRandom(bytes, from, to)) return false
  return nearby.test(bytes.toString('latin1', Math.max(0, from - 100), Math.min(to, from + 4)))
}

/** Digits and letters change places often; in names they do not. */
function looksRandom(bytes: Buffer, from: number, to: number): boolean {
  let digits = 0
  let changes = 0
  const end = Math.min(to, from + 200)
  for (let index = from; index < end; index++) {
    const byte = bytes[index]!
    const kind = kindOf(byte)
    if (kind === digit) digits++
    if (index > from && kind !== kindOf(bytes[index - 1]!)) changes++
  }
  return digits >= 3 || (digits > 0 && changes > (end - from) / 3)
}

/** Digits, capitals, small letters. */
function kindOf(byte: number): number {
  return byte >= 48 && byte <= 57 ? digit : byte >= 65 && byte <= 90 ? 3 : 4
}
