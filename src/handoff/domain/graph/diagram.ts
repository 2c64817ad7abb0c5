// A diagram of a repository: its directories, and who imports whom. It is drawn from resolved imports alone, so every edge is true.

import * as read from '../../util/decode.js'
import { compareText } from '../../util/text.js'

export interface ImportEdge {
  from: string
  to: string
  line: number
}

/** More boxes than this are not opened further; a format may hold `nodeLimit`. */
export const mostNodes = 18
const nodeLimit = 30
/** More lines cannot be followed by eye. */
export const mostEdges = 40
const edgeLimit = 60

const path = read.string(8_192)

const node = read.object({
  /** A directory with a slash at its end, or a file. The top is `./`: its own files. */
  path,
  /** The files that it stands for and that import or are imported. */
  files: read.count,
})

export type DiagramNode = read.Decoded<typeof node>

const edge = read.object({
  /** Indices of nodes. */
  from: read.count,
  to: read.count,
  /** How many files of `from` import files of `to`. */
  imports: read.count,
  /** One of them: the line of an import. */
  path,
  line: read.count,
})

export type DiagramEdge = read.Decoded<typeof edge>

export const diagramShape = read.object({
  version: read.oneOf(1),
  commit: read.objectId,
  nodes: read.array(node, nodeLimit),
  /** The strongest first. */
  edges: read.array(edge, edgeLimit),
  /** Edges between these nodes that are not drawn, because there are too many. */
  edgesLeftOut: read.count,
})

/** `analysis/diagram.json` */
export type Diagram = read.Decoded<typeof diagramShape>

/** Opens the heaviest directory again and again while its parts still fit. */
export function drawDiagram(commit: string, imports: readonly ImportEdge[]): Diagram {
  const used = [...new Set(imports.flatMap(({ from, to }) => [from, to]))].sort(compareText)
  let groups = groupBelow('', used)
  const closed = new Set<string>()
  for (;;) {
    const heaviest = groups
      .filter((group) => group.files.length > 1 && !closed.has(group.path))
      .sort((a, b) => b.files.length - a.files.length || compareText(a.path, b.path))[0]
    if (heaviest === undefined) break
    closed.add(heaviest.path)
    const parts = groupBelow(heaviest.path, heaviest.files)
    if (groups.length - 1 + parts.length > mostNodes) continue
    groups = [...groups.filter((group) => group !== heaviest), ...parts]
  }
  return connect(commit, groups, imports)
}

interface Group {
  path: string
  files: string[]
}

/** The directories below, and one group of the files that stand in the directory itself. */
function groupBelow(folder: string, files: readonly string[]): Group[] {
  const groups = Map.groupBy(files, (file) => {
    const end = file.indexOf('/', folder.length)
    return end < 0 || end === file.length - 1 ? ownFiles(folder, file) : file.slice(0, end + 1)
  })
  const found = [...groups].map(([path, own]) => ({ path, files: own }))
  // A directory with one directory in it is opened at once.
  return found.length === 1 && found[0]!.path !== folder && found[0]!.path !== './'
    ? groupBelow(found[0]!.path, files)
    : found
}

const ownFiles = (folder: string, file: string) => (file.endsWith('/') ? file : folder === '' ? './' : folder)

function connect(commit: string, groups: readonly Group[], imports: readonly ImportEdge[]): Diagram {
  const groupOf = new Map(groups.flatMap((group) => group.files.map((file) => [file, group] as const)))
  const edges = new Map<string, { from: Group; to: Group; files: Set<string>; example: ImportEdge }>()
  for (const edge of imports) {
    const [from, to] = [groupOf.get(edge.from)!, groupOf.get(edge.to)!]
    if (from === to) continue
    const key = `${from.path}\n${to.path}`
    const known = edges.get(key)
    if (known) known.files.add(edge.from)
    else edges.set(key, { from, to, files: new Set([edge.from]), example: edge })
  }
  const all = [...edges.values()].sort(
    (a, b) => b.files.size - a.files.size || compareText(a.from.path, b.from.path) || compareText(a.to.path, b.to.path),
  )
  const drawn = all.slice(0, mostEdges)
  const connected = new Set(drawn.flatMap(({ from, to }) => [from, to]))
  const nodes = groups.filter((group) => connected.has(group)).sort((a, b) => compareText(a.path, b.path))
  const index = new Map(nodes.map((group, at) => [group, at]))
  return {
    version: 1,
    commit,
    nodes: nodes.map(({ path, files }) => ({ path, files: files.length })),
    edges: drawn.map(({ from, to, files, example }) => ({
      from: index.get(from)!,
      to: index.get(to)!,
      imports: files.size,
      path: example.from,
      line: example.line,
    })),
    edgesLeftOut: all.length - drawn.length,
  }
}

/** A sandbox or a file says this: each name must be of the commit. Undefined when it has no edge. */
export function checkDiagram(diagram: Diagram, exists: (path: string) => boolean): Diagram | undefined {
  const known = diagram.nodes.every(({ path }) => path === './' || exists(path.replace(/\/$/, '')))
  const sound = diagram.edges.every(
    ({ from, to, path }) => from < diagram.nodes.length && to < diagram.nodes.length && from !== to && exists(path),
  )
  return known && sound && diagram.edges.length > 0 ? diagram : undefined
}
