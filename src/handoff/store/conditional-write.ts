// Optimistic concurrency on one file: read it, decide, write if its revision is unchanged, else read it again.
import { isHandoffError } from '../domain/errors.js'
import type { Drive } from '../domain/ports.js'

interface FoundFile {
  /** Null where there is no file; the revision is 0 then. */
  bytes: Uint8Array | null
  revision: number
}

/** Reads the revision first, so that the content is never older than the revision that a write replaces. */
export async function readAtRevision(
  drive: Drive,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<FoundFile> {
  const stat = await drive.stat(path, signal)
  const bytes = stat && (await drive.read(path, { maxBytes, signal }))
  return { bytes, revision: bytes === null ? 0 : (stat?.revision ?? 0) }
}

/** Returns the new revision; undefined when another process has written first. */
export async function writeIfUnchanged(
  drive: Drive,
  path: string,
  bytes: Uint8Array,
  expectedRevision: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return (await drive.write(path, bytes, { expectedRevision, signal })).revision
  } catch (error) {
    if (isHandoffError(error, 'conflict')) return undefined
    throw error
  }
}
