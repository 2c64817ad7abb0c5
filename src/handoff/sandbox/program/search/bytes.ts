// Numbers, texts and bytes one after the other, as the files of the search index have them. Numbers have seven bits in a byte, the low ones first.

export interface ByteWriter {
  number(value: number): void
  bytes(value: Uint8Array): void
  /** Its length in bytes comes first. */
  text(value: string): void
  length(): number
  /** Starts anew. */
  take(): Buffer
}

export function createWriter(): ByteWriter {
  let room = Buffer.allocUnsafeSlow(1 << 16)
  let filled = 0
  const reserve = (more: number) => {
    if (filled + more <= room.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(room.length * 2, filled + more))
    room.copy(larger, 0, 0, filled)
    room = larger
  }
  const writer: ByteWriter = {
    number(value) {
      reserve(8)
      let rest = value
      for (; rest > 127; rest = Math.floor(rest / 128)) room[filled++] = (rest % 128) | 128
      room[filled++] = rest
    },
    bytes(value) {
      reserve(value.length)
      room.set(value, filled)
      filled += value.length
    },
    text(value) {
      const bytes = Buffer.from(value)
      writer.number(bytes.length)
      writer.bytes(bytes)
    },
    length: () => filled,
    take() {
      const taken = Buffer.from(room.subarray(0, filled))
      filled = 0
      return taken
    },
  }
  return writer
}

/** Throws a RangeError behind the end. */
export class ByteReader {
  at = 0
  readonly all: Buffer

  constructor(all: Buffer) {
    this.all = all
  }

  isAtEnd(): boolean {
    return this.at >= this.all.length
  }

  number(): number {
    const first = this.all[this.at]
    if (first !== undefined && first < 128) {
      this.at++
      return first
    }
    let value = 0
    for (let factor = 1; factor < 2 ** 49; factor *= 128) {
      const byte = this.all[this.at++]
      if (byte === undefined) throw new RangeError('The bytes end within a number.')
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
    throw new RangeError('A number is too large.')
  }

  /** Returns where the skipped bytes begin. */
  skip(count: number): number {
    const from = this.at
    this.at += count
    if (this.at > this.all.length) throw new RangeError('The bytes end too early.')
    return from
  }

  bytes(count: number): Buffer {
    const from = this.skip(count)
    return this.all.subarray(from, this.at)
  }

  text(): string {
    const from = this.skip(this.number())
    return this.all.toString('utf8', from, this.at)
  }
}
