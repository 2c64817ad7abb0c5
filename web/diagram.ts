// The diagram of a run as SVG: directories in rows, from those that import at the top to those that are imported. Each box and each line is a link.
import type { DiagramData } from '../src/handoff/domain/graph/diagram-markdown.js'
import { plural } from './format.js'
import type { CheckLink } from './links.js'

const boxHeight = 30
const rowGap = 54
const boxGap = 28
const margin = 8
const letterWidth = 7.4

interface Box {
  x: number
  y: number
  width: number
}

export function renderDiagram({ nodes, edges }: DiagramData, link: CheckLink): SVGSVGElement {
  const sound = edges.filter(({ from, to }) => from !== to && nodes[from] !== undefined && nodes[to] !== undefined)
  const rows = arrange(nodes.length, sound)
  const boxes = place(rows, nodes)
  const width = Math.max(...boxes.map(({ x, width }) => x + width)) + boxGap
  const height = Math.max(...boxes.map(({ y }) => y + boxHeight)) + margin
  const picture = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'group',
    'aria-label': 'Who imports whom',
  })
  picture.style.setProperty('--width', `${width}px`)
  const most = Math.max(...sound.map(({ imports }) => imports), 1)
  for (const { from, to, imports, path, line, url } of sound) {
    const words = `${nodes[from]!.path} imports ${nodes[to]!.path} in ${plural(imports, 'file')}, for example ${path}:${line}`
    const curve = svg('path', { d: curveBetween(boxes[from]!, boxes[to]!), 'stroke-width': 1 + (2 * imports) / most })
    const ends = { class: 'edge', tabindex: -1, 'data-from': from, 'data-to': to }
    picture.append(linked(link(url), words, ends, curve))
  }
  for (const [index, { path, files, url }] of nodes.entries()) {
    const { x, y, width } = boxes[index]!
    const frame = svg('rect', { x, y, width, height: boxHeight, rx: 6 })
    const label = svg('text', { x: x + width / 2, y: y + boxHeight / 2 + 5, 'text-anchor': 'middle' })
    label.textContent = shorten(path)
    const node = linked(link(url), `${path}, ${plural(files, 'file')}`, { class: 'node' }, frame, label)
    for (const event of ['pointerenter', 'focus']) node.addEventListener(event, () => markEdges(picture, index))
    for (const event of ['pointerleave', 'blur']) node.addEventListener(event, () => markEdges(picture))
    picture.append(node)
  }
  return picture
}

/** Marks the lines from and to a node, which the style sheet brings forward; without a node, none. */
function markEdges(picture: SVGSVGElement, node?: number): void {
  for (const edge of picture.querySelectorAll<SVGElement>('.edge')) {
    const { from, to } = edge.dataset
    edge.classList.toggle('near', node !== undefined && [from, to].includes(String(node)))
  }
}

const shorten = (path: string) => (path.length <= 34 ? path : `…${path.slice(-33)}`)

/** Rows of nodes: each stands below everything that imports it, apart from circles. */
function arrange(count: number, edges: DiagramData['edges']): number[][] {
  const targets = Array.from({ length: count }, () => [] as number[])
  for (const { from, to } of edges) targets[from]!.push(to)
  const state = new Array<'open' | 'done' | undefined>(count)
  const order: number[] = []
  const forward: [number, number][] = []
  const visit = (node: number) => {
    state[node] = 'open'
    for (const target of targets[node]!) {
      // A line back to a node that is open closes a circle.
      if (state[target] === 'open') continue
      forward.push([node, target])
      if (state[target] === undefined) visit(target)
    }
    state[node] = 'done'
    order.unshift(node)
  }
  const incoming = new Set(edges.map(({ to }) => to))
  const nodes = Array.from({ length: count }, (_, index) => index)
  for (const node of [...nodes.filter((one) => !incoming.has(one)), ...nodes])
    if (state[node] === undefined) visit(node)
  const rank = new Array<number>(count).fill(0)
  for (const node of order)
    for (const [from, to] of forward) if (from === node) rank[to] = Math.max(rank[to]!, rank[node]! + 1)
  const byRank = Map.groupBy(nodes, (node) => rank[node]!)
  const rows = [...byRank].sort(([a], [b]) => a - b).map(([, row]) => row)
  return sortRows(rows, forward)
}

/** Nodes stand near those that import them. */
function sortRows(rows: number[][], forward: readonly [number, number][]): number[][] {
  const positions = new Map<number, number>()
  for (const row of rows) {
    const average = (node: number) => {
      const above = forward.flatMap(([from, to]) => (to === node ? (positions.get(from) ?? []) : []))
      return above.length === 0 ? 0 : above.reduce((sum, one) => sum + one, 0) / above.length
    }
    row.sort((a, b) => average(a) - average(b) || a - b)
    for (const [index, node] of row.entries()) positions.set(node, index / Math.max(1, row.length - 1))
  }
  return rows
}

function place(rows: readonly number[][], nodes: DiagramData['nodes']): Box[] {
  const boxes: Box[] = []
  const widthOf = (node: number) => shorten(nodes[node]!.path).length * letterWidth + 20
  const widths = rows.map((row) => row.reduce((sum, node) => sum + widthOf(node) + boxGap, -boxGap))
  const widest = Math.max(...widths)
  for (const [index, row] of rows.entries()) {
    let x = margin + (widest - widths[index]!) / 2
    for (const node of row) {
      boxes[node] = { x, y: margin + index * (boxHeight + rowGap), width: widthOf(node) }
      x += widthOf(node) + boxGap
    }
  }
  return boxes
}

/** From the lower side to the upper side; a line back, or within a row, leaves and enters at the right. */
function curveBetween(from: Box, to: Box): string {
  if (to.y > from.y) {
    const [startX, endX] = [from.x + from.width / 2, to.x + to.width / 2]
    const [startY, endY] = [from.y + boxHeight, to.y]
    const bend = Math.min(rowGap, (endY - startY) / 2)
    return `M${startX} ${startY}C${startX} ${startY + bend} ${endX} ${endY - bend} ${endX} ${endY}`
  }
  const [startX, endX] = [from.x + from.width, to.x + to.width]
  const [startY, endY] = [from.y + boxHeight / 2, to.y + boxHeight / 2]
  const out = Math.max(startX, endX) + boxGap - 6
  return `M${startX} ${startY}C${out} ${startY} ${out} ${endY} ${endX} ${endY}`
}

/** With an address a link, else a group with the same words. */
function linked(
  url: string | undefined,
  words: string,
  properties: Record<string, string | number>,
  ...children: SVGElement[]
): SVGElement {
  const leaving = { href: url ?? '', target: '_blank', rel: 'noopener noreferrer', referrerpolicy: 'no-referrer' }
  const made = svg(url === undefined ? 'g' : 'a', { ...properties, ...(url === undefined ? {} : leaving) })
  const title = svg('title', {})
  title.textContent = words
  made.append(title, ...children)
  return made
}

function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  properties: Record<string, string | number>,
): SVGElementTagNameMap[Name] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, String(value))
  return made
}
