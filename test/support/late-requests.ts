// Sets of requests that are still under way, as numbers. A request may be in a set more than once.

export interface LateRequests {
  /** The number of the empty set. */
  none: number
  requests(set: number): readonly number[]
  with(set: number, request: number): number
  without(set: number, request: number): number
}

export function makeLateRequests(): LateRequests {
  const sets: number[][] = []
  const numbers = new Map<string, number>()
  const larger: Map<number, number>[] = []
  const smaller: Map<number, number>[] = []

  function numberOf(requests: number[]): number {
    const key = requests.join()
    const known = numbers.get(key)
    if (known !== undefined) return known
    numbers.set(key, sets.length)
    larger.push(new Map())
    smaller.push(new Map())
    return sets.push(requests) - 1
  }

  return {
    none: numberOf([]),
    requests: (set) => sets[set]!,
    with(set, request) {
      const known = larger[set]!.get(request)
      if (known !== undefined) return known
      const added = numberOf([...sets[set]!, request].sort((a, b) => a - b))
      larger[set]!.set(request, added)
      return added
    },
    without(set, request) {
      const known = smaller[set]!.get(request)
      if (known !== undefined) return known
      const left = numberOf(sets[set]!.toSpliced(sets[set]!.indexOf(request), 1))
      smaller[set]!.set(request, left)
      return left
    },
  }
}
