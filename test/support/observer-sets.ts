// An observer only reads, so it changes nothing for the others. It may start at any moment and stop anywhere: instead of one state for each of its
// nodes, a state has the set of all nodes at which an observer may be.
import type { Automaton, ProcessNode } from './process-automaton.js'
import { woken } from './process-automaton.js'
import type { SmallDrive } from './small-drive.js'

export interface Observed {
  result: string
  /** Whether the observer has started after the moment from which on it is owed a result. */
  isOwed: boolean
}

export interface ObserverSets {
  none: number
  union(one: number, other: number): number
  /** All nodes that observers reach on these files, and the results of those that end. Observers may start now. */
  look(set: number, files: number, isOwed: boolean): Looked | Promise<Looked>
}

interface Looked {
  set: number
  ended: Observed[]
}

/** Sets of one exploration; a key holds the number of a set below it and that of the files above. */
const mostSets = 2 ** 22

export function makeObserverSets(automaton: Automaton, drive: SmallDrive): ObserverSets {
  /** The nodes of a set, sorted: twice the number of a node, and one more for an observer that is owed a result. */
  const sets: number[][] = []
  const numbers = new Map<string, number>()
  const unions = new Map<number, number>()
  const looks = new Map<number, Looked>()

  function numberOf(members: Iterable<number>): number {
    const sorted = [...members].sort((a, b) => a - b)
    const key = sorted.join()
    const known = numbers.get(key)
    if (known !== undefined) return known
    if (sets.length === mostSets) throw new Error('too many sets of observers')
    numbers.set(key, sets.length)
    return sets.push(sorted) - 1
  }

  function outcomeOf(request: number | undefined, files: number): number {
    if (request === undefined) return woken
    const { changes, text } = drive.request(request)
    if (changes) throw new Error(`an observer may not change anything: ${text}`)
    return drive.apply(files, request).reply
  }

  async function lookAt(set: number, files: number, isOwed: boolean): Promise<Looked> {
    const ended: Observed[] = []
    const seen = new Set(sets[set])
    const start = 2 * (await automaton.first()).id + Number(isOwed)
    const open = [...seen, start]
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      const node: ProcessNode = automaton.node(member >> 1)
      for (const { operation, request } of node.waiting) {
        const { id, result } = await automaton.after(node, operation, outcomeOf(request, files))
        const reached = 2 * id + (member & 1)
        if (result !== undefined) ended.push({ result, isOwed: (member & 1) === 1 })
        else if (!seen.has(reached)) {
          seen.add(reached)
          open.push(reached)
        }
      }
    }
    return { set: numberOf(seen), ended }
  }

  return {
    none: numberOf([]),
    union(one, other) {
      if (one === other || other === 0) return one
      if (one === 0) return other
      const key = Math.min(one, other) * mostSets + Math.max(one, other)
      const known = unions.get(key)
      if (known !== undefined) return known
      const both = numberOf(new Set([...sets[one]!, ...sets[other]!]))
      unions.set(key, both)
      return both
    },
    look(set, files, isOwed) {
      const key = (files * mostSets + set) * 2 + Number(isOwed)
      const known = looks.get(key)
      if (known) return known
      return lookAt(set, files, isOwed).then((looked) => {
        looks.set(key, looked)
        return looked
      })
    },
  }
}
