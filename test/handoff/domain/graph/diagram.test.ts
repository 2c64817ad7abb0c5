// The diagram: few boxes, and no line that the imports do not have.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  checkDiagram,
  type Diagram,
  drawDiagram,
  type ImportEdge,
  mostEdges,
  mostNodes,
} from '../../../../src/handoff/domain/graph/diagram.js'
import { diagramData, diagramMarkdown } from '../../../../src/handoff/domain/graph/diagram-markdown.js'

const commit = 'a'.repeat(40)
const place = { host: 'github.com', repository: 'octo/tools' }
const edge = (from: string, to: string, line = 1): ImportEdge => ({ from, to, line })
const listed = ({ nodes, edges }: Diagram) =>
  edges.map(
    ({ from, to, imports, path, line }) => `${nodes[from]!.path} → ${nodes[to]!.path} ${imports} ${path}:${line}`,
  )

describe('a diagram', () => {
  it('opens directories while there is room, and gives a line for each edge', () => {
    const drawn = drawDiagram(commit, [
      edge('src/main.ts', 'src/cli/run.ts', 3),
      edge('src/cli/run.ts', 'src/cli/words.ts'),
      edge('src/cli/run.ts', 'src/store/file.ts', 2),
      edge('src/cli/words.ts', 'src/store/file.ts', 9),
      edge('src/store/file.ts', 'lib/'),
    ])
    expect(drawn.nodes).toEqual([
      { path: 'lib/', files: 1 },
      { path: 'src/', files: 1 },
      { path: 'src/cli/', files: 2 },
      { path: 'src/store/', files: 1 },
    ])
    expect(listed(drawn)).toEqual([
      'src/cli/ → src/store/ 2 src/cli/run.ts:2',
      'src/ → src/cli/ 1 src/main.ts:3',
      'src/store/ → lib/ 1 src/store/file.ts:1',
    ])
  })

  it('gathers the files at the top', () => {
    expect(listed(drawDiagram(commit, [edge('main.go', 'hull/'), edge('cmd/a.go', 'hull/')]))).toEqual([
      './ → hull/ 1 main.go:1',
      'cmd/ → hull/ 1 cmd/a.go:1',
    ])
  })

  const path = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { minLength: 1, maxLength: 5 })
    .map((parts) => `${parts.join('/')}.ts`)
  const imports = fc.array(
    fc.record({ from: path, to: path, line: fc.integer({ min: 1, max: 99 }) }).filter(({ from, to }) => from !== to),
    { maxLength: 200 },
  )

  test('has no edge that no file has, whatever the imports are', () => {
    fc.assert(
      fc.property(imports, (edges) => {
        const drawn = drawDiagram(commit, edges)
        expect(drawn.nodes.length).toBeLessThanOrEqual(mostNodes)
        expect(drawn.edges.length).toBeLessThanOrEqual(mostEdges)
        const within = (file: string, node: string) => (node === './' ? !file.includes('/') : file.startsWith(node))
        for (const { from, to, path, line } of drawn.edges) {
          const [source, target] = [drawn.nodes[from]!.path, drawn.nodes[to]!.path]
          const shown = edges.some((one) => one.from === path && one.line === line && within(one.to, target))
          expect({ source, target, path, shown, inside: within(path, source) }).toMatchObject({
            shown: true,
            inside: true,
          })
        }
      }),
    )
  })
})

test('a diagram that names what the commit does not have is none', () => {
  const drawn = drawDiagram(commit, [edge('a/x.ts', 'b/y.ts')])
  expect(checkDiagram(drawn, () => true)).toBe(drawn)
  expect(checkDiagram(drawn, (path) => path !== 'b')).toBeUndefined()
  expect(checkDiagram(drawn, (path) => path !== 'a/x.ts')).toBeUndefined()
  expect(checkDiagram({ ...drawn, edges: [{ ...drawn.edges[0]!, to: 7 }] }, () => true)).toBeUndefined()
  expect(checkDiagram(drawDiagram(commit, []), () => true)).toBeUndefined()
})

test('names cannot leave their box, and each node and edge has a link', () => {
  const hostile = 'a"];click n0 href "evil.example'
  const drawn = drawDiagram(commit, [edge(`${hostile}/x.ts`, 'b|`b/y.ts')])
  const text = diagramMarkdown(drawn, place)
  const [, chart = ''] = /```mermaid\n([\s\S]*?)\n```/.exec(text) ?? []
  expect(chart.split('\n').filter((line) => line.includes('evil.example'))).toEqual([
    expect.stringMatching(/^ {2}n\d\["[\w./ #;-]+"\]$/),
    expect.stringMatching(/^ {2}click n\d href "https:\/\/github\.com\/octo\/tools\/tree\/a{40}\/[\w.%/()!~*'-]+"$/),
  ])
  const data = diagramData(drawn, place)
  expect(
    [...data.nodes, ...data.edges].map(({ url }) => new URL(url!).pathname.split('/').slice(1, 3).join('/')),
  ).toEqual(new Array(3).fill('octo/tools'))
})
