// The mark that stands in the place of a file while what it leads to is being removed. It is written on condition, so of a removal and
// whatever else wants to write there exactly one wins. Readers take it for nothing at all.
import * as read from '../util/decode.js'
import { encode } from './handoff-record.js'

export interface Tombstone {
  version: 1
  /** The run that goes. */
  removed: string
  removedAt: string
}

const shape = read.object({ version: read.oneOf(1), removed: read.string(200), removedAt: read.time })

export const encodeTombstone = (mark: Tombstone): Uint8Array => encode(mark)

/** The mark, or nothing where the bytes are something else. */
export function readTombstone(bytes: Uint8Array): Tombstone | undefined {
  try {
    return read.decodeJson(new TextDecoder().decode(bytes), shape)
  } catch (error) {
    if (error instanceof read.DecodeError) return undefined
    throw error
  }
}
