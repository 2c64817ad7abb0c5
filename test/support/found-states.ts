// The states that an exploration has found and still has to look at.
import { makeStateTable } from './state-table.js'

export interface FoundState {
  /** Its number; states are numbered in the order in which they are found. */
  index: number
  files: number
  late: number
  nodes: number[]
  faults: number
  parent: number
  observers: number
}

export interface FoundStates {
  count(): number
  read(index: number): FoundState
  /** A state counts as reached with the fewest faults and with the observers of all ways to it. Returns its number. */
  add(state: Omit<FoundState, 'index'>): number
  /** Each state with so many faults that is new or has changed since it was looked at, also those that are found meanwhile. */
  withFaults(faults: number): Generator<FoundState>
}

export function makeFoundStates(processes: number, union: (one: number, other: number) => number): FoundStates {
  const keyWidth = 2 + processes
  const [faultsAt, parentAt, observersAt, isDoneAt] = [keyWidth, keyWidth + 1, keyWidth + 2, keyWidth + 3]
  const table = makeStateTable(keyWidth + 4, keyWidth)
  const numbers = new Array<number>(keyWidth + 4).fill(0)
  /** Rows before this one were passed. */
  let next = 0
  /** Rows before it to look at again. */
  const again: number[] = []

  function read(index: number): FoundState {
    const nodes: number[] = []
    for (let who = 0; who < processes; who += 1) nodes.push(table.read(index, 2 + who))
    return {
      index,
      files: table.read(index, 0),
      late: table.read(index, 1),
      nodes,
      faults: table.read(index, faultsAt),
      parent: table.read(index, parentAt),
      observers: table.read(index, observersAt),
    }
  }

  function take(row: number): FoundState {
    table.write(row, isDoneAt, 1)
    return read(row)
  }

  return {
    count: table.count,
    read,
    add({ files, late, nodes, faults, parent, observers }) {
      numbers[0] = files
      numbers[1] = late
      for (let who = 0; who < processes; who += 1) numbers[2 + who] = nodes[who]!
      numbers[faultsAt] = faults
      numbers[parentAt] = parent
      numbers[observersAt] = observers
      const { row, isNew } = table.find(numbers)
      if (isNew) return row
      const [before, seen] = [table.read(row, faultsAt), table.read(row, observersAt)]
      const all = union(seen, observers)
      if (before <= faults && all === seen) return row
      table.write(row, observersAt, all)
      if (faults < before) {
        table.write(row, faultsAt, faults)
        table.write(row, parentAt, parent)
      }
      table.write(row, isDoneAt, 0)
      if (row < next) again.push(row)
      return row
    },
    *withFaults(faults) {
      const isOpen = (row: number) => table.read(row, isDoneAt) === 0 && table.read(row, faultsAt) <= faults
      for (next = 0; next < table.count(); ) {
        next += 1
        if (isOpen(next - 1)) yield take(next - 1)
        for (let row = again.pop(); row !== undefined; row = again.pop()) if (isOpen(row)) yield take(row)
      }
    },
  }
}
