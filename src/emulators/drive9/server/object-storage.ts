// Where the bytes are: in memory, or as plain files below a directory so that a later process finds them again.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freshId } from '../../faulty-server.js'

export interface Objects {
  put(bytes: Uint8Array): string
  get(id: string): Buffer
  remove(id: string): void
}

export function memoryObjects(): Objects {
  const kept = new Map<string, Buffer>()
  return {
    put(bytes) {
      const id = freshId()
      kept.set(id, Buffer.from(bytes))
      return id
    },
    get: (id) => kept.get(id) ?? Buffer.alloc(0),
    remove: (id) => {
      kept.delete(id)
    },
  }
}

export function fileObjects(directory: string): Objects {
  const folder = join(directory, 'objects')
  mkdirSync(folder, { recursive: true })
  return {
    put(bytes) {
      const id = freshId()
      writeFileSync(join(folder, id), bytes)
      return id
    },
    get: (id) => readFileSync(join(folder, id)),
    remove: (id) => rmSync(join(folder, id), { force: true }),
  }
}

/** Takes objects away a little late: a reader who was just sent to one still gets it whole, as in a real object storage. */
export function lateRemoval(objects: Objects, keep = 32): Objects {
  const waiting: string[] = []
  return {
    ...objects,
    remove(id) {
      waiting.push(id)
      if (waiting.length > keep) objects.remove(waiting.shift() ?? '')
    },
  }
}

/** One line of the table on disk. Replayed in order, the lines make the tree and the tokens again. */
export interface TableLine {
  op: string
  [field: string]: unknown
}

export interface Table {
  lines: TableLine[]
  append(line: TableLine): void
}

export const noTable: Table = { lines: [], append: () => undefined }

export function fileTable(directory: string): Table {
  const file = join(directory, 'table.jsonl')
  return {
    lines: existsSync(file) ? readLines(readFileSync(file, 'utf8')) : [],
    append: (line) => appendFileSync(file, `${JSON.stringify(line)}\n`),
  }
}

/** A process that was killed while it wrote leaves half a line at the end; that change was never acknowledged. */
function readLines(text: string): TableLine[] {
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  return complete
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as TableLine)
}
