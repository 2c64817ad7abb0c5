// Reads many ranges of one stored file with few requests: near ranges are one request, and the bytes between them are thrown away.
import { mapConcurrent } from '../../../util/map-concurrent.js'
import type { Place } from './stored-objects.js'

export interface StoredFile {
  read(place: Place): Promise<Buffer>
}

/** Requests at the same time, and bytes that are read in vain rather than making one more request. A range of a false index may be of any size. */
const most = { requests: 96, gap: 300_000, bytes: 256_000_000 }
const smallGap = 12_000

/** The bytes of each place, in their order. */
export async function readPlaces(file: StoredFile, places: readonly Place[]): Promise<Buffer[]> {
  const order = [...places.keys()].sort((a, b) => places[a]!.offset - places[b]!.offset)
  const gaps = order.map((at, index) => Math.max(0, places[at]!.offset - endOf(places[order[index - 1] ?? at]!)))
  const limit = Math.min(most.gap, gaps.toSorted((a, b) => b - a)[most.requests - 1] ?? 0)
  const runs: { offset: number; end: number; members: number[] }[] = []
  for (const [index, at] of order.entries()) {
    const { offset } = places[at]!
    const run = runs.at(-1)
    if (run && gaps[index]! <= Math.max(limit, smallGap)) {
      run.end = Math.max(run.end, endOf(places[at]!))
      run.members.push(at)
    } else runs.push({ offset, end: endOf(places[at]!), members: [at] })
  }
  if (runs.reduce((sum, { offset, end }) => sum + end - offset, 0) > most.bytes)
    throw new RangeError('The search index asks for too many bytes.')
  const found: Buffer[] = []
  await mapConcurrent(most.requests, runs, async ({ offset, end, members }) => {
    const bytes = await file.read({ offset, length: end - offset })
    for (const at of members) {
      const from = places[at]!.offset - offset
      found[at] = bytes.subarray(from, from + places[at]!.length)
    }
  })
  return found
}

const endOf = ({ offset, length }: Place) => offset + length
