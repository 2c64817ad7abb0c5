// What the search knows of the files of a commit.
import type { FileKind } from '../../../domain/survey.js'

export interface SourceFile {
  index: number
  path: string
  name: string
  directory: string
  /** Its id. From an index it is known when the file is read. */
  blob: string
  /** Size in bytes; after reading, of the text in UTF-8. */
  size: number
  kind: FileKind
  /** The grammar that finds its definitions. */
  grammar: string
  isExample: boolean
}

export interface SourceFiles {
  files: SourceFile[]
  /** Calls `take` with every file, in order. One byte 0 follows the file's bytes. They are valid during the call only. */
  readAll(take: (file: SourceFile, bytes: Buffer) => void): Promise<void>
}

/** A zero in the first bytes. `size` leaves out the zero that follows the text. */
export const isBinary = (bytes: Uint8Array, size: number) => bytes.indexOf(0) < Math.min(size, 8_000)
