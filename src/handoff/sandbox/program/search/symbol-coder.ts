// Numbers in fewer bits than a byte each, as the search index has them: an asymmetric numeral system. Each kind of number, a context, has a table of
// how frequent its symbols are; frequent symbols take a small part of a bit. What codes a sequence of numbers is written once: counting, writing and
// reading call the same `number`, and a reader ignores the value it is given.
import type { ByteReader, ByteWriter } from './bytes.js'

export interface SymbolCoder {
  number(context: number, value: number): number
  /** From 0 to 63. */
  symbol(context: number, symbol: number): number
}

/** A context has so many symbols. Numbers below 8 are one; a larger one is its two highest bits, and the others follow as they are. */
const symbols = 64
const exactNumbers = 8
const exactBits = 3
const precision = 12
const scale = 1 << precision
/** The state is never below it, and it moves by whole bytes. */
const least = 1 << 23

export class SymbolCounter implements SymbolCoder {
  readonly counts: Float64Array

  constructor(contexts: number) {
    this.counts = new Float64Array(contexts * symbols)
  }

  symbol(context: number, symbol: number): number {
    this.counts[context * symbols + symbol]!++
    return symbol
  }

  number(context: number, value: number): number {
    this.symbol(context, symbolOf(value))
    return value
  }

  /** How frequent each symbol is, in steps of an eighth at most: see `weightOf`. */
  steps(): Uint8Array {
    const found = new Uint8Array(this.counts.length)
    for (let from = 0; from < found.length; from += symbols) {
      const own = this.counts.subarray(from, from + symbols)
      const all = own.reduce((sum, count) => sum + count, 0)
      for (const [symbol, count] of own.entries())
        if (count > 0) found[from + symbol] = stepOf(Math.max(1, Math.round((count * scale) / all)))
    }
    return found
  }
}

/** A number below 8 is a step; above, four steps double it. */
function stepOf(weight: number): number {
  if (weight < exactNumbers) return weight
  const high = 31 - Math.clz32(weight)
  return exactNumbers + (high - exactBits) * 4 + ((weight >> (high - 2)) & 3)
}

function weightOf(step: number): number {
  const above = step - exactNumbers
  return above < 0 ? step : (4 | (above & 3)) << ((above >> 2) + exactBits - 2)
}

/** Fills in the shares of the symbols of a context, which make `scale`. */
function share(steps: Uint8Array, shares: Uint16Array): void {
  let all = 0
  for (const step of steps) all += weightOf(step)
  if (all === 0) return
  let rest = scale
  for (const [symbol, step] of steps.entries()) {
    if (step > 0) shares[symbol] = Math.max(1, Math.round((weightOf(step) * scale) / all))
    rest -= shares[symbol]!
  }
  while (rest !== 0) {
    const most = shares.indexOf(Math.max(...shares))
    const change = rest > 0 ? rest : Math.max(rest, 1 - Math.ceil(shares[most]! / 2))
    shares[most]! += change
    rest -= change
  }
}

function symbolOf(value: number): number {
  if (value < exactNumbers) return value
  const high = 31 - Math.clz32(value)
  return exactNumbers + (high - exactBits) * 2 + ((value >> (high - 1)) & 1)
}

export function writeSteps(to: ByteWriter, steps: Uint8Array): void {
  for (let from = 0; from < steps.length; from += symbols) {
    const own = steps.subarray(from, from + symbols)
    const used = own.findLastIndex((step) => step > 0) + 1
    to.number(used)
    to.bytes(own.subarray(0, used))
  }
}

export function readSteps(from: ByteReader, contexts: number): Uint8Array {
  const found = new Uint8Array(contexts * symbols)
  for (let context = 0; context < contexts; context++) {
    const own = from.bytes(from.number())
    if (own.length > symbols || own.some((step) => step > largestStep))
      throw new RangeError('The search index has a wrong table of symbols.')
    found.set(own, context * symbols)
  }
  return found
}

const largestStep = stepOf(scale)

/** Of each symbol: its share, and 2 * `scale` times where its share begins. */
function rangesOf(steps: Uint8Array): Int32Array {
  const ranges = new Int32Array(steps.length)
  const shares = new Uint16Array(symbols)
  for (let from = 0; from < steps.length; from += symbols) {
    shares.fill(0)
    share(steps.subarray(from, from + symbols), shares)
    let start = 0
    for (let symbol = 0; symbol < symbols; symbol++) {
      ranges[from + symbol] = start * 2 * scale + shares[symbol]!
      start += shares[symbol]!
    }
  }
  return ranges
}

const shareIn = (range: number) => range & (2 * scale - 1)
const startIn = (range: number) => range >> (precision + 1)

/** Keeps what is to be written, because the last symbol is coded first. */
export class SymbolWriter implements SymbolCoder {
  private readonly ranges: Int32Array
  private waiting = new Int32Array(1 << 16)
  private filled = 0

  constructor(steps: Uint8Array) {
    this.ranges = rangesOf(steps)
  }

  /** How many symbols wait. */
  get length(): number {
    return this.filled
  }

  symbol(context: number, symbol: number): number {
    this.push(this.ranges[context * symbols + symbol]!)
    return symbol
  }

  number(context: number, value: number): number {
    this.symbol(context, symbolOf(value))
    if (value < exactNumbers) return value
    for (let left = 30 - Math.clz32(value); left > 0; left -= precision) {
      const bits = Math.min(left, precision)
      const share = scale >> bits
      this.push(((value >> (left - bits)) & ((1 << bits) - 1)) * share * 2 * scale + share)
    }
    return value
  }

  private push(range: number): void {
    if (this.filled === this.waiting.length) {
      const larger = new Int32Array(this.filled * 2)
      larger.set(this.waiting)
      this.waiting = larger
    }
    this.waiting[this.filled++] = range
  }

  /** The bytes of all that waits. */
  take(): Buffer {
    const bytes = Buffer.allocUnsafe(this.filled * 2 + 4)
    let at = bytes.length
    let state = least
    for (let next = this.filled - 1; next >= 0; next--) {
      const share = shareIn(this.waiting[next]!)
      const limit = (least >> precision) * 256 * share
      for (; state >= limit; state = Math.floor(state / 256)) bytes[--at] = state & 255
      state = Math.floor(state / share) * scale + (state % share) + startIn(this.waiting[next]!)
    }
    at = bytes.writeUInt32BE(state, at - 4) - 4
    this.filled = 0
    return Buffer.from(bytes.subarray(at))
  }
}

/** What all readers of a table need. */
export class SymbolTables {
  readonly ranges: Int32Array
  /** By context and place: the symbol whose share has the place. */
  readonly symbols: Uint8Array

  constructor(steps: Uint8Array) {
    this.ranges = rangesOf(steps)
    this.symbols = new Uint8Array((steps.length / symbols) * scale)
    for (const [at, range] of this.ranges.entries()) {
      const from = Math.floor(at / symbols) * scale + startIn(range)
      if (shareIn(range) > 0) this.symbols.fill(at % symbols, from, from + shareIn(range))
    }
  }
}

/** Throws a RangeError behind the end, and for a symbol of a context that has none. */
export class SymbolReader implements SymbolCoder {
  private readonly ranges: Int32Array
  private readonly symbols: Uint8Array
  private readonly bytes: Buffer
  private at = 4
  private state: number
  /** A false index could have any number of symbols in few bytes. */
  private left: number

  constructor({ ranges, symbols }: SymbolTables, bytes: Buffer, most: number) {
    this.ranges = ranges
    this.symbols = symbols
    this.bytes = bytes
    this.state = bytes.readUInt32BE(0)
    this.left = most
    if (this.state < least || this.state >= least * 256)
      throw new RangeError('A page of the search index begins wrongly.')
  }

  symbol(context: number, _symbol = 0): number {
    const place = this.state & (scale - 1)
    const symbol = this.symbols[context * scale + place]!
    const range = this.ranges[context * symbols + symbol]!
    if (range === 0 || --this.left < 0) throw new RangeError('A page of the search index has a wrong symbol.')
    this.advance(shareIn(range), place - startIn(range))
    return symbol
  }

  number(context: number, _value = 0): number {
    const symbol = this.symbol(context)
    return symbol < exactNumbers ? symbol : this.largeNumber(symbol)
  }

  private largeNumber(symbol: number): number {
    const high = exactBits + ((symbol - exactNumbers) >> 1)
    let value = 2 | (symbol & 1)
    for (let left = high - 1; left > 0; left -= precision) {
      const bits = Math.min(left, precision)
      const place = this.state & (scale - 1)
      const part = place >> (precision - bits)
      this.advance(scale >> bits, place - (part << (precision - bits)))
      value = (value << bits) | part
    }
    return value
  }

  private advance(share: number, rest: number): void {
    let state = share * (this.state >>> precision) + rest
    while (state < least) {
      if (this.at === this.bytes.length) throw new RangeError('A page of the search index ends too early.')
      state = (state << 8) | this.bytes[this.at++]!
    }
    this.state = state
  }
}
