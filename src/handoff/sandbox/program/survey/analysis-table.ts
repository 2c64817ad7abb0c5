// The analysis of every distinct file of a survey. The hashes of all files stand in one pool, because an array per file costs too much memory.
import type { Definition, SecretPlace } from '../../../domain/survey.js'
import type { ContentKind } from './decode-text.js'
import type { ImportStatement } from './find-imports.js'

interface Analysis {
  contentKind: ContentKind
  /** The grammar that the file's name or the first line of a script selects. */
  grammar: string
  encoding: 'utf-8' | 'utf-16' | 'unknown'
  /** The line that describes the file best, and its number; 0 when there is none. */
  headline: { line: number; text: string }
  /** JSON of `Definition[]`, as it goes into the outline. */
  outline: string
  /** JSON of `ImportStatement[]`; empty when there are none. */
  imports: string
  secrets: Pick<SecretPlace, 'line' | 'rule'>[]
  /** All secret rules were applied to the whole file, and none matched. */
  clean: boolean
  /** Where the file's hashes are in the pool: identifiers in [from, names), pairs of name and quality in [names, to). */
  from: number
  middle: number
  to: number
}

export type AnalysisDraft = Omit<Analysis, 'from' | 'middle' | 'to' | 'outline' | 'imports'> & {
  definitions: Definition[]
  imports: ImportStatement[]
}

export interface AnalysisTable {
  records: Analysis[]
  /** All hashes. A later `add` may replace the array. */
  pool: () => Int32Array
  /** Returns the index of the new record. */
  add: (draft: AnalysisDraft, identifiers: Int32Array, names: Int32Array) => number
}

export function createAnalysisTable(): AnalysisTable {
  const records: Analysis[] = []
  let pool = new Int32Array(1 << 16)
  let filled = 0

  const reserve = (count: number) => {
    if (filled + count <= pool.length) return
    const larger = new Int32Array(Math.max(pool.length * 2, filled + count))
    larger.set(pool.subarray(0, filled))
    pool = larger
  }

  return {
    records,
    pool: () => pool,
    add({ definitions, imports, ...rest }, identifiers, names) {
      reserve(identifiers.length + names.length)
      const from = filled
      const middle = from + identifiers.length
      pool.set(identifiers, from)
      pool.set(names, middle)
      filled = middle + names.length
      const written = {
        outline: JSON.stringify(definitions),
        imports: imports.length === 0 ? '' : JSON.stringify(imports),
      }
      return records.push({ ...rest, ...written, from, middle, to: filled }) - 1
    },
  }
}
