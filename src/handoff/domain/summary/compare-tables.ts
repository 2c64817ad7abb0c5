// What a push did to the files of a repository, by the file tables of both commits.
import type { FileRow, FileTable } from '../survey.js'

export interface TableChanges {
  /** Paths with content that the earlier commit did not have under any path. */
  added: Set<string>
  /** Files that are much larger than they were. */
  grown: Set<string>
  /** Former path to present path, of files that moved unchanged. */
  renamed: Map<string, string>
  /** The share of the present files with content that the earlier commit had, or with a path that it had. */
  overlap: number
}

/** A file that grew by this share and this many bytes has new things in it. */
const growth = { share: 0.25, bytes: 2_000 }

export function compareTables(before: FileTable, now: FileTable): TableChanges {
  const former = new Map(plainRows(before).map((row) => [row.path, row]))
  const formerBlobs = new Set(before.files.map(({ blob }) => blob))
  const present = plainRows(now)
  const presentPaths = new Set(present.map(({ path }) => path))
  const isGrown = (row: FileRow) => {
    const size = former.get(row.path)?.size ?? row.size
    return row.size - size >= Math.max(growth.bytes, size * growth.share)
  }
  const isNew = (row: FileRow) => !former.has(row.path)
  const moved = Map.groupBy(present.filter(isNew), ({ blob }) => blob)
  const goneRows = [...former.values()].filter(({ path }) => !presentPaths.has(path))
  const known = present.filter((row) => !isNew(row) || formerBlobs.has(row.blob))
  return {
    added: new Set(present.filter((row) => isNew(row) && !formerBlobs.has(row.blob)).map(({ path }) => path)),
    grown: new Set(present.filter(isGrown).map(({ path }) => path)),
    renamed: new Map(
      goneRows.flatMap(({ path, blob }) => {
        const [only, ...others] = moved.get(blob) ?? []
        return only && others.length === 0 ? [[path, only.path]] : []
      }),
    ),
    overlap: present.length === 0 ? 1 : known.length / present.length,
  }
}

/** Paths that are not UTF-8 may look alike. */
const plainRows = ({ files }: FileTable) => files.filter(({ pathBase64 }) => pathBase64 === undefined)
