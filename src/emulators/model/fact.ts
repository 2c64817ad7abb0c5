// What the offline model says, one sentence at a time.
import type { FileBlock, Line } from './parse-prompt.js'

/** A sentence with its full stop, and the lines that show it. */
export interface Fact {
  text: string
  file: FileBlock
  lines: Line[]
  /** Lines of other files that it needs. */
  also?: { file: FileBlock; lines: Line[] }[]
}

export const nameOf = (file: FileBlock) => file.path.split('/').at(-1) ?? file.path
export const depthOf = (file: FileBlock) => file.path.split('/').length
export const folderOf = (file: FileBlock) => file.path.split('/').slice(0, -1).join('/')

/** Names that one sentence lists. */
export const mostNames = 6
