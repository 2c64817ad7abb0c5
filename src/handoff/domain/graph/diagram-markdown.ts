// The diagram as Markdown of GitHub: a flowchart that GitHub draws, and a folded table with a link for each of its edges, which a flowchart cannot hold.
import { type AnswerPlace, directoryLink, permalink } from '../answers/permalinks.js'
import { codeSpan } from '../markdown/escape.js'
import { safeTable } from '../markdown/sanitize.js'
import type { Diagram, DiagramEdge, DiagramNode } from './diagram.js'

export function diagramMarkdown(diagram: Diagram, place: AnswerPlace): string {
  const { nodes, edges, edgesLeftOut } = diagram
  const left = edgesLeftOut === 0 ? '' : ` The ${edgesLeftOut} weakest are left out.`
  const summary = `${edges.length} connections, each with one of its imports`
  return [
    flowchart(diagram, place),
    `<details>\n<summary>${summary}</summary>\n\nDrawn from the imports of ${counted(nodes)} alone.${left}\n\n${edgeTable(diagram, place)}\n\n</details>`,
  ].join('\n\n')
}

const counted = (nodes: readonly DiagramNode[]) => {
  const files = nodes.reduce((sum, { files }) => sum + files, 0)
  return `${files} ${files === 1 ? 'file' : 'files'}`
}

function flowchart({ commit, nodes, edges }: Diagram, place: AnswerPlace): string {
  const drawn = nodes.map(({ path }, index) => `  n${index}["${label(path)}"]`)
  const arrows = edges.map(({ from, to, imports }) => `  n${from} -->|${imports}| n${to}`)
  const links = nodes.flatMap(({ path }, index) => {
    const url = nodeLink(path, commit, place)
    return url === null || /["\s]/.test(url) ? [] : [`  click n${index} href "${url}"`]
  })
  return ['```mermaid', 'flowchart LR', ...drawn, ...arrows, ...links, '```'].join('\n')
}

/** The diagram as data, for the page and the HTTP API: each node and edge with its address. */
export interface DiagramData {
  nodes: (DiagramNode & { url: string | null })[]
  edges: (DiagramEdge & { url: string | null })[]
  edgesLeftOut: number
}

export function diagramData({ commit, nodes, edges, edgesLeftOut }: Diagram, place: AnswerPlace): DiagramData {
  return {
    nodes: nodes.map((node) => ({ ...node, url: nodeLink(node.path, commit, place) })),
    edges: edges.map((edge) => ({
      ...edge,
      url: permalink(place, commit, { path: edge.path, from: edge.line, to: edge.line }),
    })),
    edgesLeftOut,
  }
}

/** Everything that could mean something to the renderer is written as the number of its character. */
const label = (path: string) =>
  Array.from(path.slice(0, 80), (character) =>
    /[\w./ -]/.test(character) ? character : `#${character.codePointAt(0)};`,
  ).join('')

/** The directory, or the file, at the commit. */
function nodeLink(path: string, commit: string, place: AnswerPlace): string | null {
  if (path === './') return directoryLink(place, commit, '')
  return path.endsWith('/')
    ? directoryLink(place, commit, path.slice(0, -1))
    : permalink(place, commit, { path, from: 1, to: 1 })
}

function edgeTable({ commit, nodes, edges }: Diagram, place: AnswerPlace): string {
  const linked = (text: string, url: string | null) => (url === null ? codeSpan(text) : `[${codeSpan(text)}](${url})`)
  const node = ({ path }: DiagramNode) => linked(path, nodeLink(path, commit, place))
  const rows = edges.map(({ from, to, imports, path, line }) => [
    node(nodes[from]!),
    node(nodes[to]!),
    String(imports),
    linked(`${path}:${line}`, permalink(place, commit, { path, from: line, to: line })),
  ])
  return safeTable([['Importing', 'Imported', 'Files', 'For example'], ...rows], (cell) => cell)
}
