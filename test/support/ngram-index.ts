// Finds any piece of some texts inside a long one: every run of `size` characters that occurs in one of them. One pass, a rolling hash, and a
// table that says no to almost every place; only the others are compared letter by letter.

export interface GramFinder {
  size: number
  /** Calls back with each place where a run begins that is known. */
  scan(text: string, found: (at: number) => void): void
}

const base = 0x01000193

export function gramFinder(size: number, texts: readonly string[]): GramFinder {
  const all = texts.join('')
  const bits = Math.min(24, Math.max(10, Math.ceil(Math.log2(all.length + 1)) + 1))
  const shift = 32 - bits
  const last = (1 << bits) - 1
  /** Where in `all` a run with this hash stands, counted from one; the next free row takes what finds its own taken. */
  const places = new Int32Array(1 << bits)
  const hashes = new Int32Array(1 << bits)
  const rowOf = (hash: number, text: string, at: number) => {
    let row = mixed(hash) >>> shift
    for (; places[row] !== 0; row = (row + 1) & last) {
      if (hashes[row] === hash && isSame(all, places[row]! - 1, text, at, size)) break
    }
    return row
  }
  const leading = power(size - 1)
  // Every letter of every form comes by here before the first text is looked at, so this is one loop that calls nothing it need not.
  let from = 0
  for (const text of texts) {
    let hash = 0
    for (let index = 0; index < text.length; index++) {
      if (index >= size) hash = (hash - Math.imul(text.charCodeAt(index - size), leading)) | 0
      hash = (Math.imul(hash, base) + text.charCodeAt(index)) | 0
      const at = index - size + 1
      if (at < 0) continue
      let row = mixed(hash) >>> shift
      while (places[row] !== 0 && hashes[row] !== hash) row = (row + 1) & last
      if (places[row] !== 0) row = rowOf(hash, text, at)
      places[row] = from + at + 1
      hashes[row] = hash
    }
    from += text.length
  }
  return {
    size,
    scan: (text, found) => {
      if (all.length === 0) return
      eachRun(text, size, (hash, at) => {
        if (places[mixed(hash) >>> shift] !== 0 && places[rowOf(hash, text, at)] !== 0) found(at)
      })
    },
  }
}

function eachRun(text: string, size: number, visit: (hash: number, at: number) => void): void {
  if (text.length < size) return
  const leading = power(size - 1)
  let hash = 0
  for (let index = 0; index < size; index++) hash = next(hash, text.charCodeAt(index))
  for (let at = 0; ; at++) {
    visit(hash, at)
    if (at + size >= text.length) return
    hash = next((hash - Math.imul(text.charCodeAt(at), leading)) | 0, text.charCodeAt(at + size))
  }
}

const next = (hash: number, code: number) => (Math.imul(hash, base) + code) | 0

/** Spreads the low bits, which change most, over the high ones, which are used. */
const mixed = (hash: number) => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)

function isSame(one: string, oneAt: number, other: string, otherAt: number, size: number): boolean {
  for (let index = 0; index < size; index++) {
    if (one.charCodeAt(oneAt + index) !== other.charCodeAt(otherAt + index)) return false
  }
  return true
}

function power(exponent: number): number {
  let result = 1
  for (let index = 0; index < exponent; index++) result = Math.imul(result, base)
  return result
}
