// A set of states, each a row of whole numbers. Forty million rows of eight numbers take two gigabytes, outside the heap.

/** Rows of one piece. Pieces are added, so that growing copies nothing. */
const pieceRows = 1 << 18

export interface StateTable {
  count(): number
  /** The row with these numbers, which is added if it is not there. The first `keyWidth` numbers decide. */
  find(numbers: readonly number[]): { row: number; isNew: boolean }
  read(row: number, column: number): number
  write(row: number, column: number, value: number): void
}

export function makeStateTable(width: number, keyWidth: number): StateTable {
  const pieces: Int32Array[] = []
  /** Row numbers plus one, by hash; zero is a free place. */
  let places = new Int32Array(1 << 16)
  let count = 0

  const placeOf = (row: number) => (row % pieceRows) * width
  const pieceOf = (row: number) => pieces[Math.floor(row / pieceRows)]!

  function hashOf(numbers: ArrayLike<number>, from: number): number {
    let hash = 0x811c9dc5
    for (let at = 0; at < keyWidth; at += 1) {
      hash = Math.imul(hash ^ numbers[from + at]!, 0x9e3779b1)
      hash ^= hash >>> 15
    }
    return hash
  }

  function hasKey(row: number, numbers: readonly number[]): boolean {
    const [piece, from] = [pieceOf(row), placeOf(row)]
    for (let at = 0; at < keyWidth; at += 1) if (piece[from + at] !== numbers[at]) return false
    return true
  }

  function grow(): void {
    const larger = new Int32Array(2 * places.length)
    for (let row = 0; row < count; row += 1) {
      let place = hashOf(pieceOf(row), placeOf(row)) & (larger.length - 1)
      while (larger[place] !== 0) place = (place + 1) & (larger.length - 1)
      larger[place] = row + 1
    }
    places = larger
  }

  return {
    count: () => count,
    find(numbers) {
      let place = hashOf(numbers, 0) & (places.length - 1)
      for (; places[place] !== 0; place = (place + 1) & (places.length - 1)) {
        const row = places[place]! - 1
        if (hasKey(row, numbers)) return { row, isNew: false }
      }
      const row = count
      if (row % pieceRows === 0) pieces.push(new Int32Array(pieceRows * width))
      pieceOf(row).set(numbers, placeOf(row))
      places[place] = row + 1
      count += 1
      if (2 * count > places.length) grow()
      return { row, isNew: true }
    },
    read: (row, column) => pieceOf(row)[placeOf(row) + column]!,
    write(row, column, value) {
      pieceOf(row)[placeOf(row) + column] = value
    },
  }
}
