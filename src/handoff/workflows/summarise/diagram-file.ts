// The diagram that the sandbox drew, as a file of the run: checked against the commit's own table first.

import { checkDiagram, type Diagram } from '../../domain/graph/diagram.js'
import type { Handoff } from '../../domain/handoff-record.js'
import { artifact } from '../../domain/run.js'
import type { FileTable } from '../../domain/survey.js'
import { sha256 } from '../../store/run-store.js'

export interface RunFile {
  path: string
  bytes: Uint8Array
}

/** Undefined when it has no edge, or names what the commit does not have. */
export function checkedDiagram(drawn: Diagram | undefined, table: FileTable | undefined): Diagram | undefined {
  if (drawn === undefined || table === undefined || drawn.commit !== table.commit) return undefined
  const files = new Set(table.files.map(({ path }) => path))
  return checkDiagram(drawn, (path) => files.has(path) || Object.hasOwn(table.trees, path))
}

export const diagramFile = (diagram: Diagram): RunFile => ({
  path: artifact.diagram,
  bytes: new TextEncoder().encode(`${JSON.stringify(diagram)}\n`),
})

export const artifactOf = ({ path, bytes }: RunFile): Handoff['artifacts'][number] => ({
  path,
  bytes: bytes.length,
  sha256: sha256(bytes),
})
