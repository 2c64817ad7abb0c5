// Writes typed records to standard output, and defines the error that ends the program with a record.
import { writeSync } from 'node:fs'
import type { ProgramFailure } from '../../domain/sandbox-protocol.js'
import type { ProgramRecord } from '../../domain/sandbox-protocol-decoder.js'

type RecordBody = ProgramRecord extends infer R ? (R extends { v: 1 } ? Omit<R, 'v'> : never) : never

export function emit(record: RecordBody): void {
  writeAll(Buffer.from(`${JSON.stringify({ v: 1, ...record })}\n`))
}

/** Synchronous, so that a record is written whatever happens to the process next. */
export function writeAll(bytes: Uint8Array): void {
  let offset = 0
  while (offset < bytes.length) {
    try {
      offset += writeSync(1, bytes, offset)
    } catch (error) {
      // The pipe is full; the sandbox's daemon reads it soon.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
    }
  }
}

export class ProgramError extends Error {
  readonly failure: ProgramFailure

  constructor(failure: ProgramFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

/** Runs one step and emits its duration, also when it fails. */
export async function timeStep<T>(
  step: 'mount' | 'clone' | 'store' | 'survey' | 'drain' | 'find' | 'unpack',
  work: () => Promise<T>,
): Promise<T> {
  const start = performance.now()
  try {
    return await work()
  } finally {
    emit({ type: 'step', step, milliseconds: Math.round(performance.now() - start) })
  }
}
