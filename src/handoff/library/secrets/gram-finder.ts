// Finds any piece of some texts inside a long one: every run of `size` characters that occurs in one of them. One pass, a rolling hash, and a
// table that says no to almost every place; only the others are looked up letter by letter.

export interface GramFinder {
  size: number
  /** Calls back with each place where a run begins that is known. */
  scan(text: string, found: (at: number) => void): void
}

const base = 0x01000193

export function gramFinder(size: number, texts: readonly string[]): GramFinder {
  const grams = new Set<string>()
  for (const text of texts) for (let at = 0; at + size <= text.length; at++) grams.add(text.slice(at, at + size))
  const bits = Math.min(22, Math.max(12, Math.ceil(Math.log2(grams.size + 1)) + 4))
  const table = new Uint8Array(1 << bits)
  const shift = 32 - bits
  for (const gram of grams) table[mixed(hashOf(gram, size)) >>> shift] = 1
  const leading = power(size - 1)
  return {
    size,
    scan: (text, found) => {
      if (grams.size === 0 || text.length < size) return
      let hash = hashOf(text, size)
      for (let at = 0; ; at++) {
        if (table[mixed(hash) >>> shift] === 1 && grams.has(text.slice(at, at + size))) found(at)
        if (at + size >= text.length) return
        const rest = (hash - Math.imul(text.charCodeAt(at), leading)) | 0
        hash = (Math.imul(rest, base) + text.charCodeAt(at + size)) | 0
      }
    },
  }
}

function hashOf(text: string, size: number): number {
  let hash = 0
  for (let index = 0; index < size; index++) hash = (Math.imul(hash, base) + text.charCodeAt(index)) | 0
  return hash
}

/** Spreads the low bits, which change most, over the high ones, which are used. */
const mixed = (hash: number) => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)

function power(exponent: number): number {
  let result = 1
  for (let index = 0; index < exponent; index++) result = Math.imul(result, base)
  return result
}
