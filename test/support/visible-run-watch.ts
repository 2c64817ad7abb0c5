// What a reader of the run directories sees at this very moment: nothing, or a run whose every hash matches. Looks into the local drive itself,
// between two of its requests, so that no moment is missed.

import type { LocalDrive } from '../../src/emulators/drive9/server/main.js'
import { decodeHandoff, decodePointer } from '../../src/handoff/domain/handoff-record.js'
import { artifact, type Layout } from '../../src/handoff/domain/run.js'
import { readTombstone } from '../../src/handoff/domain/tombstone.js'
import { sha256 } from '../../src/handoff/store/run-store.js'

export interface VisibleRunWatch {
  /** Checks the visible run. Records problems instead of throwing, because its callers would not see an exception. */
  look(): void
  /** Stops the checks before the test itself deletes the run. An abandoned call may still complete then. */
  stopLooking(): void
  /** The run that is visible now. */
  run(): string | undefined
  wrong: string[]
  looked: number
  bytesCompared: number
}

/** With `mayBeReplaced` one run may take the place of another, and a run may be removed. */
export function watchVisibleRun(
  drive: LocalDrive,
  layout: Layout,
  sha: string,
  { mayBeReplaced = false } = {},
): VisibleRunWatch {
  let last: Buffer | undefined
  let looks = true
  const reader: VisibleRunWatch = {
    wrong: [],
    looked: 0,
    bytesCompared: 0,
    look() {
      if (!looks) return
      reader.looked += 1
      const pointer = drive.readFile(layout.pointer(sha))
      // A mark in its place says that it is being removed.
      if (pointer === undefined || readTombstone(pointer)) {
        if (last && !mayBeReplaced) reader.wrong.push('a run that was visible is gone')
        return
      }
      const moved = last !== undefined && !last.equals(pointer)
      if (moved && !mayBeReplaced) reader.wrong.push('the pointer of a commit was changed without force')
      last = pointer
      const problem = problemOf(drive, layout, pointer, reader)
      if (problem) reader.wrong.push(problem)
    },
    stopLooking() {
      looks = false
    },
    run: () => {
      const pointer = drive.readFile(layout.pointer(sha))
      return pointer && decodePointer(pointer).run
    },
  }
  return reader
}

function problemOf(
  drive: LocalDrive,
  layout: Layout,
  bytes: Buffer,
  count: { bytesCompared: number },
): string | undefined {
  try {
    const pointer = decodePointer(bytes)
    const directory = layout.run(pointer.run)
    const sealed = drive.readFile(`${directory}/${artifact.handoff}`)
    if (!sealed || sha256(sealed) !== pointer.handoff)
      return `the handoff of ${pointer.run} is not what the pointer says`
    for (const { path, bytes: size, sha256: hash } of decodeHandoff(sealed).artifacts) {
      const stored = drive.readFile(`${directory}/${path}`)
      if (stored?.length !== size || sha256(stored) !== hash) return `${path} of ${pointer.run} is not what was sealed`
      count.bytesCompared += size
    }
    return undefined
  } catch (error) {
    return `what is visible cannot be read: ${String(error)}`
  }
}
