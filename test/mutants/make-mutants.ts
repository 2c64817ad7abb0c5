// Small changes of a source file, each of which a test should notice: a condition that always or never holds, half of a condition, a check that is not
// made, a limit that is one off, an expression without its anchor. Texts of errors are not changed.

export interface Mutant {
  line: number
  /** The line with the change, as it was. */
  code: string
  /** What was there, and what stands in its place. */
  was: string
  becomes: string
  /** The whole file with this one change. */
  source: string
}

interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

interface Edit {
  start: number
  end: number
  text: string
}

const boundaries: Record<string, string> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' }
const quantifiers: Record<string, string> = { some: 'every', every: 'some' }

export async function mutantsOf(path: string, source: string): Promise<Mutant[]> {
  const { parseSync } = await import('vite')
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]!.message}`)
  const edits = editsIn(program as unknown as Node, undefined, source)
  const unique = new Map(edits.map((edit) => [`${edit.start} ${edit.end} ${edit.text}`, edit]))
  const lines = source.split('\n')
  const lineOf = (offset: number) => source.slice(0, offset).split('\n').length
  return [...unique.values()].map(({ start, end, text }) => ({
    line: lineOf(start),
    code: lines[lineOf(start) - 1]!.trim(),
    was: source.slice(start, end).replace(/\s+/g, ' '),
    becomes: text,
    source: source.slice(0, start) + text + source.slice(end),
  }))
}

function editsIn(node: Node, parent: Node | undefined, source: string): Edit[] {
  if (isErrorText(node)) return []
  const children = Object.values(node).flat().filter(isNode)
  return [...editsOf(node, parent, source), ...children.flatMap((child) => editsIn(child, node, source))]
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

const isErrorText = (node: Node) =>
  node.type.startsWith('TS') ||
  (node.type === 'NewExpression' && /Error$/.test(String((node['callee'] as Node)['name'])))

function editsOf(node: Node, parent: Node | undefined, source: string): Edit[] {
  const textOf = ({ start, end }: Node) => source.slice(start, end)
  const instead = (text: string, of = node): Edit => ({ start: of.start, end: of.end, text })
  const isCondition = parent?.['test'] === node
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return ['true', 'false'].map((text) => instead(text, node['test'] as Node))
    case 'LogicalExpression':
      if (node['operator'] === '??') return []
      return [node['left'], node['right']].map((half) => instead(`(${textOf(half as Node)})`))
    case 'BinaryExpression': {
      const [operator, left, right] = [String(node['operator']), node['left'] as Node, node['right'] as Node]
      const other = boundaries[operator]
      // A condition that is turned round is noticed where one that always or never holds is.
      if (other === undefined || (isCondition && operator.length === 3)) return []
      return [instead(`${textOf(left)} ${other} ${textOf(right)}`)]
    }
    case 'UnaryExpression':
      return node['operator'] === '!' && !isCondition ? [instead(`!!(${textOf(node['argument'] as Node)})`)] : []
    case 'CallExpression':
      return callEdits(node, instead, textOf)
    case 'ExpressionStatement': {
      const expression = node['expression'] as Node
      const called = expression.type === 'AwaitExpression' ? (expression['argument'] as Node) : expression
      return called.type === 'CallExpression' ? [instead('undefined')] : []
    }
    case 'ThrowStatement':
      // The condition before it is changed instead.
      return parent?.type === 'IfStatement' || isOnlyStatement(node, parent) ? [] : [instead(';')]
    case 'Literal':
      return literalEdits(node, parent, instead)
    case 'ArrayExpression':
      return parent?.type === 'NewExpression' ? elementEdits(node, instead, textOf) : []
    default:
      return []
  }
}

const isOnlyStatement = (node: Node, parent: Node | undefined) =>
  parent?.type === 'BlockStatement' && (parent['body'] as Node[]).length === 1 && (parent['body'] as Node[])[0] === node

type Instead = (text: string, of?: Node) => Edit

function callEdits(node: Node, instead: Instead, textOf: (node: Node) => string): Edit[] {
  const callee = node['callee'] as Node
  if (callee.type !== 'MemberExpression') return []
  const property = callee['property'] as Node
  const name = String(property['name'])
  if (name === 'filter') return [instead(textOf(callee['object'] as Node))]
  return quantifiers[name] === undefined ? [] : [instead(quantifiers[name], property)]
}

function literalEdits(node: Node, parent: Node | undefined, instead: Instead): Edit[] {
  const { value } = node
  if (typeof value === 'boolean') return [instead(String(!value))]
  if (value === 'error' && (parent?.['key'] as Node | undefined)?.['name'] === 'redirect') return [instead("'follow'")]
  const regex = node['regex'] as { pattern: string; flags: string } | undefined
  if (!regex) return []
  const { pattern, flags } = regex
  return [pattern.replace(/^\^/, ''), pattern.replace(/(?<!\\)\$$/, '')]
    .filter((other) => other !== pattern && other !== '')
    .map((other) => instead(`/${other}/${flags}`))
}

/** An entry of a list of what is allowed or known is missing. */
function elementEdits(node: Node, instead: Instead, textOf: (node: Node) => string): Edit[] {
  const elements = (node['elements'] as Node[]).map(textOf)
  return elements.map((_, index) => instead(`[${elements.toSpliced(index, 1).join(', ')}]`))
}
