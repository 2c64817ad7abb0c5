// A tombstone replaces a pointer or a seal while its run is being removed. It is a conditional write, so exactly one of a removal and a
// concurrent writer wins. Readers treat it as a missing file.
import * as read from '../util/decode.js'
import { encode } from './handoff-record.js'

export interface Tombstone {
  version: 1
  /** The run that is removed. */
  removed: string
  removedAt: string
}

/** A removal ends in this time, or leaves its tombstone to the next prune. Only an older tombstone may be replaced by another process. */
export const removalMs = 5 * 60_000
/** The clocks of two machines differ by less than the rest. */
const youngMs = 15 * 60_000

export const isYoung = ({ removedAt }: Tombstone, now: number) => now - Date.parse(removedAt) < youngMs

const shape = read.object({ version: read.oneOf(1), removed: read.string(200), removedAt: read.time })

export const encodeTombstone = (mark: Tombstone): Uint8Array => encode(mark)

/** The tombstone; undefined if the bytes are another file. */
export function readTombstone(bytes: Uint8Array): Tombstone | undefined {
  const value = read.parseJson(new TextDecoder().decode(bytes)) as { removed?: unknown } | null | undefined
  if (value?.removed === undefined) return undefined
  try {
    return shape(value, '')
  } catch (error) {
    if (error instanceof read.DecodeError) return undefined
    throw error
  }
}
