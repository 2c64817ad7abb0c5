// PageRank over a weighted graph.

const damping = 0.85
const rounds = 20

export interface Edges {
  /** The first edge of each file, and the number of edges at the end. */
  starts: Int32Array
  targets: Int32Array
  /** The weights of one file's edges add up to 1. */
  weights: Float32Array
}

/** Reverses all edges. */
export function reverseEdges(count: number, { starts, targets, weights }: Edges): Edges {
  const total = starts[count]!
  const back: Edges = {
    starts: new Int32Array(count + 1),
    targets: new Int32Array(total),
    weights: new Float32Array(total),
  }
  const sums = new Float64Array(count)
  for (let edge = 0; edge < total; edge++) {
    const file = targets[edge]!
    back.starts[file + 1] = back.starts[file + 1]! + 1
    sums[file] = sums[file]! + weights[edge]!
  }
  for (let file = 0; file < count; file++) back.starts[file + 1] = back.starts[file + 1]! + back.starts[file]!
  const next = back.starts.slice()
  for (let user = 0; user < count; user++) {
    for (let edge = starts[user]!; edge < starts[user + 1]!; edge++) {
      const file = targets[edge]!
      const place = next[file]!
      next[file] = place + 1
      back.targets[place] = user
      back.weights[place] = weights[edge]! / sums[file]!
    }
  }
  return back
}

export function pageRank(count: number, { starts, targets, weights }: Edges): Float64Array {
  let ranks = new Float64Array(count).fill(1 / count)
  for (let round = 0; round < rounds; round++) {
    const next = new Float64Array(count)
    let loose = 0
    for (let file = 0; file < count; file++) {
      const rank = ranks[file]!
      const end = starts[file + 1]!
      if (starts[file] === end) loose += rank
      for (let edge = starts[file]!; edge < end; edge++) next[targets[edge]!]! += rank * weights[edge]!
    }
    const base = (1 - damping + damping * loose) / count
    for (let file = 0; file < count; file++) next[file] = base + damping * next[file]!
    ranks = next
  }
  return ranks
}
