// Decodes `analysis/files.json`. A sandbox with a hostile repository wrote it, so every row is validated.
import * as read from '../util/decode.js'
import { parseRows } from '../util/json-rows.js'
import { HandoffError } from './errors.js'
import { quote } from './run.js'
import { type FileTable, secretPlace } from './survey.js'

const row = read.object({
  path: read.string(8_192),
  pathBase64: read.optional(read.string(12_000)),
  mode: read.pattern(/^\d{6}$/, 'a mode'),
  blob: read.objectId,
  size: read.count,
  kind: read.string(40),
  state: read.oneOf('read', 'cut', 'skipped'),
  reason: read.optional(read.string(40)),
})

const shape = read.object({
  version: read.oneOf(1),
  commit: read.objectId,
  trees: read.record(read.objectId),
  files: read.array(row),
  secrets: read.array(secretPlace),
})

export function readFileTable(bytes: Uint8Array): FileTable {
  try {
    const files: ReturnType<typeof row>[] = []
    const rest = parseRows(bytes, 'files', (entry, index) => files.push(row(entry, `files[${index}]`)))
    const table = shape(rest, '')
    return (files.length > 0 ? { ...table, files } : table) as FileTable
  } catch (error) {
    if (!(error instanceof read.DecodeError)) throw error
    throw new HandoffError('sandbox', `The table of files cannot be read: ${quote(error.message)}.`, {
      cause: error,
      next: 'Try again; nothing was sealed.',
    })
  }
}
