// GraphQL as far as the local GitHub speaks it: one operation with variables, fields with arguments, inline fragments. It is as strict as GitHub about
// what it knows (declared and used variables, fields of a type, selections of objects), and refuses all other syntax.

export class GraphqlError extends Error {
  override readonly name = 'GraphqlError'
  readonly type: string | undefined

  constructor(message: string, type?: string) {
    super(message)
    this.type = type
  }
}

export type Value = string | number | boolean | null | Node | Value[] | ((given: Given) => Value)
export type Given = Record<string, unknown>

/** An object of the schema, with the fields it has here. */
export interface Node {
  __typename: string
  [field: string]: Value
}

interface Field {
  name: string
  given: [name: string, value: Literal][]
  selection: Selection[] | null
}

type Selection = { on: string; selection: Selection[] } | Field
type Literal = { variable: string } | { fields: [string, Literal][] } | { value: string | number | boolean | null }

interface Operation {
  kind: 'query' | 'mutation'
  declared: Map<string, { required: boolean }>
  used: Set<string>
  selection: Selection[]
}

interface Answer {
  data: Record<string, unknown> | null
  errors?: { type?: string; message: string }[]
}

/** Runs a document against the two roots. Errors are part of the answer, as GitHub has it. */
export function runGraphql(document: string, variables: Given, roots: { query: Node; mutation: Node }): Answer {
  try {
    const operation = parse(document)
    checkVariables(operation, variables)
    return { data: select(roots[operation.kind], operation.selection, variables) }
  } catch (error) {
    if (!(error instanceof GraphqlError)) throw error
    return {
      data: null,
      errors: [{ ...(error.type === undefined ? {} : { type: error.type }), message: error.message }],
    }
  }
}

function checkVariables({ declared, used }: Operation, variables: Given): void {
  for (const name of used) {
    if (!declared.has(name)) throw new GraphqlError(`Variable $${name} is used by anonymous query but not declared`)
  }
  for (const [name, { required }] of declared) {
    if (!used.has(name)) throw new GraphqlError(`Variable $${name} is declared by anonymous query but not used`)
    const missing = variables[name] === undefined || variables[name] === null
    if (required && missing) throw new GraphqlError(`Variable $${name} was provided invalid value`)
  }
}

function select(node: Node, selection: Selection[], variables: Given): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  for (const one of selection) {
    if ('on' in one) {
      if (one.on === node.__typename) Object.assign(result, select(node, one.selection, variables))
      continue
    }
    const found = Object.hasOwn(node, one.name) ? node[one.name] : undefined
    if (found === undefined) throw new GraphqlError(`Field '${one.name}' doesn't exist on type '${node.__typename}'`)
    if (typeof found !== 'function' && one.given.length > 0) {
      throw new GraphqlError(`Field '${one.name}' doesn't accept argument '${one.given[0]![0]}'`)
    }
    const given = Object.fromEntries(one.given.map(([name, literal]) => [name, evaluated(literal, variables)]))
    result[one.name] = shown(one, typeof found === 'function' ? found(given) : found, variables)
  }
  return result
}

function shown(field: Field, value: Value, variables: Given): unknown {
  if (Array.isArray(value)) return value.map((one) => shown(field, one, variables))
  if (value === null) return null
  if (typeof value === 'object') {
    if (field.selection !== null) return select(value, field.selection, variables)
    throw new GraphqlError(`Field must have selections (field '${field.name}' returns ${value.__typename})`)
  }
  if (field.selection === null) return value
  throw new GraphqlError(`Selections can't be made on scalars (field '${field.name}')`)
}

function evaluated(literal: Literal, variables: Given): unknown {
  if ('variable' in literal) return variables[literal.variable] ?? null
  if ('value' in literal) return literal.value
  return Object.fromEntries(literal.fields.map(([name, value]) => [name, evaluated(value, variables)]))
}

// ── syntax ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const token = /\s*(\.\.\.|[{}():!$]|"(?:[^"\\\n]|\\.)*"|-?\d+|[A-Za-z_]\w*)[\s,]*/y

function parse(document: string): Operation {
  const words = wordsOf(document)
  let at = 0
  const peek = () => words[at]
  const take = (wanted?: string): string => {
    const word = words[at]
    if (word === undefined || (wanted !== undefined && word !== wanted)) {
      throw new GraphqlError(`Expected ${wanted ?? 'a name'}, actual: ${word ?? '(none)'}`)
    }
    at += 1
    return word
  }
  const name = () => {
    const word = take()
    if (/^[A-Za-z_]/.test(word)) return word
    throw new GraphqlError(`Expected NAME, actual: ${word}`)
  }
  const declared: Operation['declared'] = new Map()
  const used = new Set<string>()

  function list<T>(open: string, close: string, item: () => T): T[] {
    take(open)
    const items: T[] = []
    while (peek() !== close) items.push(item())
    take(close)
    return items
  }
  function pair(): [string, Literal] {
    const key = name()
    take(':')
    return [key, literal()]
  }
  function literal(): Literal {
    if (peek() === '$') {
      take('$')
      const variable = name()
      used.add(variable)
      return { variable }
    }
    if (peek() === '{') return { fields: list('{', '}', pair) }
    const word = take()
    if (/^["-\d]/.test(word)) return { value: JSON.parse(word) as string | number }
    return { value: word === 'null' ? null : word === 'true' || word === 'false' ? word === 'true' : word }
  }
  function selectionOf(): Selection[] {
    return list('{', '}', () => {
      if (peek() === '...') {
        take('...')
        take('on')
        return { on: name(), selection: selectionOf() }
      }
      const field = name()
      const given = peek() === '(' ? list('(', ')', pair) : []
      return { name: field, given, selection: peek() === '{' ? selectionOf() : null }
    })
  }
  function declaration(): void {
    take('$')
    const variable = name()
    take(':')
    name()
    const required = peek() === '!'
    if (required) take('!')
    declared.set(variable, { required })
  }

  const kind = peek() === 'mutation' ? 'mutation' : 'query'
  if (peek() !== '{') take(kind)
  if (/^[A-Za-z_]/.test(peek() ?? '')) name()
  if (peek() === '(') list('(', ')', declaration)
  const selection = selectionOf()
  if (at !== words.length) throw new GraphqlError(`Expected one operation, actual: ${words[at]}`)
  return { kind, declared, used, selection }
}

function wordsOf(document: string): string[] {
  const words: string[] = []
  token.lastIndex = 0
  while (token.lastIndex < document.length) {
    const from = token.lastIndex
    const found = token.exec(document)
    if (!found) throw new GraphqlError(`Parse error at ${from}: ${document.slice(from, from + 20)}`)
    words.push(found[1]!)
  }
  return words
}
