// `analysis/notes.json`: what the model wrote about parts of a repository, kept by what it was asked: the prompt version, the model and the lines
// that it was shown. The next full summary pays only for parts that changed. A file that cannot be read costs money and nothing else.
import { hash } from 'node:crypto'
import * as read from '../../util/decode.js'
import { isHandoffError } from '../errors.js'
import { decodeVersioned } from '../handoff-record.js'
import { type Messages, promptVersion } from './summary-prompt.js'
import { rows } from './summary-record.js'

export const notesLimit = 4_000_000
const limits = { notes: 5_000, text: 60_000 }

const note = read.object({
  key: read.sha256,
  /** The model's reply as it came. It is checked against the commit each time that it is used. */
  text: read.string(limits.text),
  /** True if a limit cut the reply. */
  cut: read.optional(read.boolean),
})

export type Note = read.Decoded<typeof note>

const shape = read.object({ version: read.oneOf(1), notes: read.array(note, limits.notes) })

/** The file as a map from key to note, oldest first. */
export type Notes = Map<string, Note>

export function noteKey(model: string, messages: Messages): string {
  return hash('sha256', JSON.stringify([promptVersion, model, messages.map(({ content }) => content)]))
}

/** Throws `corrupt` or `unknown-version`. */
export function decodeNotes(bytes: Uint8Array): Notes {
  const { notes } = decodeVersioned(bytes, shape, 'notes.json')
  return new Map(notes.map((note) => [note.key, note]))
}

/** If they are too many, the oldest are left out. One note per line. */
export function encodeNotes(notes: Iterable<Note>): Uint8Array {
  const kept: Note[] = []
  let room = notesLimit - 100
  for (const note of [...notes].reverse()) {
    room -= Buffer.byteLength(JSON.stringify(note)) + 2
    if (room < 0 || kept.length === limits.notes) break
    if (note.text.length <= limits.text) kept.push(note)
  }
  return new TextEncoder().encode(`{"version":1,"notes":${rows(kept.reverse())}}\n`)
}

/** As `decodeNotes`, but a file that cannot be used is ignored with a notice. */
export function readNotes(bytes: Uint8Array | null | undefined, notice: (text: string) => void): Notes {
  if (!bytes) return new Map()
  try {
    return decodeNotes(bytes)
  } catch (error) {
    const why = isHandoffError(error, 'unknown-version') ? 'were written by a newer handoff' : 'cannot be read'
    notice(`The notes of the earlier run ${why}; a full summary describes every part anew.`)
    return new Map()
  }
}
