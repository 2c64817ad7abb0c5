// Finds the canonical run of a commit.
import { isHandoffError } from '../domain/errors.js'
import type { Ports } from '../domain/ports.js'
import type { Layout } from '../domain/run.js'
import { type FindOptions, readSealed, type SealedRun } from './run-store.js'

/** Looks again when another process has written the pointer meanwhile. */
export async function findSealed(
  tools: Pick<Ports, 'drive' | 'clock'>,
  place: Layout,
  sha: string,
  signal: AbortSignal,
  options: FindOptions = {},
): Promise<SealedRun | undefined> {
  for (;;) {
    const found = await lookOnce(tools, place, sha, signal, options)
    if (found !== 'changed') return found
  }
}

/** Where the pointer is missing, or names a run that is gone, a write-ahead record may vouch for a run. That is rare, so its code is loaded then. */
export async function lookOnce(
  tools: Pick<Ports, 'drive' | 'clock'>,
  place: Layout,
  sha: string,
  signal: AbortSignal,
  options: FindOptions = {},
): Promise<SealedRun | 'changed' | undefined> {
  let unreadable = false
  try {
    const found = await readSealed(tools.drive, place, sha, signal, options.expected)
    if (found) return found
  } catch (error) {
    if (!isHandoffError(error, 'corrupt')) throw error
    unreadable = true
  }
  const { findByRecord } = await import('./publish-run.js')
  return findByRecord(tools, place, sha, signal, options, unreadable)
}
