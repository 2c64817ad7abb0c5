// Objects of git in the stored tar. The clone has one pack without deltas, so each object is one range of bytes that says all of it: a head with its
// kind and size, and a zlib stream.
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { inflateRawSync } from 'node:zlib'
import type { ObjectKind } from '../../../domain/git-proof.js'

/** A range of the stored tar. */
export interface Place {
  offset: number
  length: number
}

export interface StoredObject {
  /** The hash of what it is, as git makes it. */
  id: string
  kind: ObjectKind
  bytes: Buffer
  /** The same, deflated. */
  deflated: Buffer
}

const kinds: Record<number, ObjectKind> = { 1: 'commit', 2: 'tree', 3: 'blob' }
const largestObject = 16_000_000
/** Around the deflated bytes of a zlib stream. */
const zlibFrame = { head: 2, checksum: 4 }

/** Throws unless the bytes are an object. Which one it is, its id says. */
export function readObject(stored: Buffer): StoredObject {
  let at = 0
  let byte = stored.readUInt8(at++)
  const kind = kinds[(byte >> 4) & 7]
  let size = byte & 15
  for (let factor = 16; byte > 127; factor *= 128) {
    byte = stored.readUInt8(at++)
    size += (byte & 127) * factor
  }
  if (!kind || size > largestObject)
    throw new RangeError('The stored tar has something else at the place of an object.')
  const deflated = stored.subarray(at + zlibFrame.head, stored.length - zlibFrame.checksum)
  const bytes = inflateRawSync(deflated, { maxOutputLength: Math.max(1, size) })
  const id = createHash('sha1').update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex')
  return { id, kind, bytes, deflated }
}

/** Finds all objects of a tar by the index of its pack, and the commit's tree. */
export async function locateObjects(
  tar: string,
  commit: string,
): Promise<{ places: Map<string, Place>; rootTree: string }> {
  const file = await open(tar)
  try {
    const { size: end } = await file.stat()
    let pack: Place | undefined
    let index: Place | undefined
    for (let at = 0; at + 512 <= end; ) {
      const head = await readAt(file, { offset: at, length: 512 })
      const length = sizeInTar(head)
      const content = { offset: at + 512, length }
      const start = (await readAt(file, { ...content, length: Math.min(4, length) })).toString('latin1')
      if (start === 'PACK') pack = content
      if (start === '\xfftOc') index = content
      at += 512 + Math.ceil(length / 512) * 512
    }
    if (!pack || !index) throw new Error('The tar of the clone has no pack.')
    const places = placesIn(await readAt(file, index), pack)
    const { id, bytes } = readObject(await readAt(file, places.get(commit) ?? pack))
    if (id !== commit) throw new Error('The tar of the clone has another commit.')
    return { places, rootTree: bytes.toString('latin1', 5, 45) }
  } finally {
    await file.close()
  }
}

async function readAt(file: FileHandle, { offset, length }: Place): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset)
  return buffer.subarray(0, bytesRead)
}

/** Octal, or base 256 for a file of 8 GB and more. */
function sizeInTar(head: Buffer): number {
  if ((head[124]! & 128) !== 0) return head.readUIntBE(130, 6)
  return Number.parseInt(head.toString('latin1', 124, 136), 8) || 0
}

/** Version 2 of git's index of a pack: 256 counts, ids, checksums, offsets of 31 bits, and those that need more. */
function placesIn(index: Buffer, pack: Place): Map<string, Place> {
  const count = index.readUInt32BE(8 + 255 * 4)
  const ids = 8 + 256 * 4
  const offsets = ids + count * 24
  const large = offsets + count * 4
  const found = Array.from({ length: count }, (_, at) => {
    const id = index.toString('hex', ids + at * 20, ids + at * 20 + 20)
    const offset = index.readUInt32BE(offsets + at * 4)
    return { id, offset: offset < 2 ** 31 ? offset : Number(index.readBigUInt64BE(large + (offset - 2 ** 31) * 8)) }
  }).sort((a, b) => a.offset - b.offset)
  const trailer = 20
  return new Map(
    found.map(({ id, offset }, at) => {
      const end = found[at + 1]?.offset ?? pack.length - trailer
      return [id, { offset: pack.offset + offset, length: end - offset }]
    }),
  )
}
