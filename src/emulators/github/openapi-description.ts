// GitHub's own description of its REST API (`@octokit/openapi`, a development dependency) judges what the local GitHub hears and what it says.
//
// A process reads the document when its first request comes, and compiles a schema when it first needs it: a process that starts the server and
// sends nothing pays nothing. Objects may hold described properties only, so that the local GitHub cannot invent what the product then reads.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { lazy } from '../../handoff/util/lazy.js'
import {
  type Compile,
  type DescribedOperation,
  type Document,
  makeCompiler,
  type Parameter,
  parseParameter,
  resolve,
  type Schema,
  validationProblems,
} from './openapi-schema.js'

interface DescribedRequest {
  query: URLSearchParams
  headers: Record<string, string>
  /** Decoded JSON; undefined where there was no body. */
  body: unknown
}

interface Operation {
  /** As the document writes it: `GET /repos/{owner}/{repo}`. */
  name: string
  /** What is wrong with the request, one sentence each. */
  requestProblems(request: DescribedRequest): string[]
  /** What is wrong with the reply. A reply without a body is `undefined`. */
  replyProblems(status: number, body: unknown): string[]
  /** The schema of a reply with this status, where there is one. */
  replySchema(status: number): Schema | undefined
}

export interface Description {
  /** Null for a request that GitHub does not have. */
  find(method: string, path: string): Operation | null
  /** What is wrong with a value that the schema describes. */
  problems(schema: Schema, value: unknown): string[]
  /** The schema that a reference names, or the schema itself. */
  resolve(schema: Schema): Schema
}

/** Where the document is wrong, as the public issues of github/rest-api-description say and as GitHub's own payloads show. */
const corrections: Record<string, string> = {
  // A pull request whose fork was deleted has no repository at its head.
  'pull-request.head.repo': 'nullable',
}

/** Any operation may refuse in these ways, whether the document repeats it or not. */
const commonErrors = new Map(
  [400, 401, 403, 404, 422, 429].map((status) => [status, status === 422 ? 'validation-error' : 'basic-error']),
)

const require = createRequire(import.meta.url)
/** Read once for a process. */
export const loadDescription = lazy(load)

async function load(): Promise<Description> {
  const file = require.resolve('@octokit/openapi/generated/api.github.com.json')
  const [text, { Ajv: AjvClass }, { default: formats }] = await Promise.all([
    readFile(file, 'utf8'),
    import('ajv'),
    import('ajv-formats'),
  ])
  const document = JSON.parse(text) as Document
  applyCorrections(document)
  const ajv = new AjvClass({ strict: false, allErrors: true, validateFormats: true, logger: false })
  formats.default(ajv)
  const found = new Map<string, Operation>()
  const compile = makeCompiler(ajv, document)
  const templates = Object.entries(document.paths).map(makeTemplate)
  return {
    find(method, path) {
      const place = matchPath(document, templates, method, path)
      if (!place) return null
      const name = `${method} ${place.template}`
      const operation = found.get(name) ?? makeOperation(document, name, place.operation, compile)
      found.set(name, operation)
      return {
        ...operation,
        requestProblems: (request) => [...pathProblems(place, compile), ...operation.requestProblems(request)],
      }
    },
    problems: (schema, value) => validationProblems(compile(schema), value, 'it'),
    resolve: (schema) => resolve(document, schema),
  }
}

function applyCorrections(document: Document): void {
  for (const [place, what] of Object.entries(corrections)) {
    const [component = '', ...rest] = place.split('.')
    let schema = document.components.schemas[component]
    for (const name of rest) schema = schema?.properties?.[name]
    if (!schema) throw new Error(`GitHub's description has no ${place} any more: take its correction out.`)
    const { $ref } = schema
    delete schema.$ref
    Object.assign(schema, $ref === undefined ? {} : { allOf: [{ $ref }] }, { [what]: true })
  }
}

interface MatchedPath {
  template: string
  operation: DescribedOperation
  parameters: Parameter[]
  values: Record<string, string>
}

interface Template {
  template: string
  operations: Record<string, DescribedOperation>
  wanted: string[]
  /** How many of the segments are no parameters. */
  fixed: number
}

function makeTemplate([template, operations]: [string, Record<string, DescribedOperation>]): Template {
  const wanted = template.split('/')
  return { template, operations, wanted, fixed: wanted.filter((part) => !part.startsWith('{')).length }
}

/** Of several templates that match the one with the most fixed segments is meant. */
function matchPath(
  document: Document,
  templates: readonly Template[],
  method: string,
  path: string,
): MatchedPath | null {
  const given = path.split('/')
  let best: (MatchedPath & { fixed: number }) | null = null
  for (const { template, operations, wanted, fixed } of templates) {
    const operation = operations[method.toLowerCase()]
    if (!operation || (best && best.fixed >= fixed) || !fixedSegmentsMatch(wanted, given)) continue
    const parameters = (operation.parameters ?? []).map((one) => resolve(document, one) as Parameter)
    const values = pathValues(wanted, given, parameters)
    if (values) best = { template, operation, parameters, values, fixed }
  }
  return best
}

/** Whether all fixed segments are there. */
const fixedSegmentsMatch = (wanted: string[], given: string[]) =>
  given.length >= wanted.length && wanted.every((part, index) => part.startsWith('{') || part === given[index])

/** The values of the path's parameters; null where there are too many segments or an empty one. */
function pathValues(wanted: string[], given: string[], parameters: Parameter[]): Record<string, string> | null {
  const values: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const name = /^\{(.+)\}$/.exec(part)?.[1]
    if (name === undefined) continue
    const many = parameters.some((one) => one.name === name && one['x-multi-segment'])
    const text = (many ? given.slice(index) : given.slice(index, index + 1)).join('/')
    if (text === '') return null
    values[name] = decodeURIComponent(text)
    if (many) return values
  }
  return given.length > wanted.length ? null : values
}

function pathProblems({ parameters, values }: MatchedPath, compile: Compile): string[] {
  return parameters
    .filter((one) => one.in === 'path')
    .flatMap((one) =>
      validationProblems(compile(one.schema), parseParameter(values[one.name]!, one.schema), `path ${one.name}`),
    )
}

function makeOperation(document: Document, name: string, described: DescribedOperation, compile: Compile): Operation {
  const parameters = (described.parameters ?? []).map((one) => resolve(document, one) as Parameter)
  const responseOf = (status: number) => {
    const response = described.responses[String(status)]
    return response && resolve(document, response)
  }
  const replySchema = (status: number) => {
    const response = responseOf(status)
    if (response) return response.content?.['application/json']?.schema
    return document.components.schemas[commonErrors.get(status) ?? '']
  }
  return {
    name,
    requestProblems: (request) => [
      ...queryProblems(parameters, request.query, compile),
      ...parameters
        .filter((one) => one.in === 'header' && one.required && request.headers[one.name.toLowerCase()] === undefined)
        .map((one) => `header ${one.name} is missing`),
      ...bodyProblems(described.requestBody, request, compile),
    ],
    replyProblems(status, body) {
      if (!responseOf(status) && !commonErrors.has(status)) return [`status ${status} is not described`]
      const schema = replySchema(status)
      if (!schema) return body === undefined ? [] : [`status ${status} has no body`]
      return body === undefined ? [`status ${status} has a body`] : validationProblems(compile(schema), body, 'reply')
    },
    replySchema,
  }
}

function queryProblems(parameters: Parameter[], query: URLSearchParams, compile: Compile): string[] {
  const wanted = parameters.filter((one) => one.in === 'query')
  const unknown = [...query.keys()].filter((name) => !wanted.some((one) => one.name === name))
  return [
    ...unknown.map((name) => `query ${name} is not described`),
    ...wanted.flatMap((one) => {
      const text = query.get(one.name)
      if (text === null) return one.required ? [`query ${one.name} is missing`] : []
      return validationProblems(compile(one.schema), parseParameter(text, one.schema), `query ${one.name}`)
    }),
  ]
}

function bodyProblems(
  described: DescribedOperation['requestBody'],
  heard: DescribedRequest,
  compile: Compile,
): string[] {
  if (!described) return heard.body === undefined ? [] : ['there is a body, and none is described']
  if (heard.body === undefined) return described.required ? ['the body is missing'] : []
  const type = heard.headers['content-type']?.split(';')[0] ?? ''
  const schema = described.content?.[type]?.schema
  if (!schema) return [`a body of type ${type || 'unknown'} is not described`]
  return validationProblems(compile(schema), heard.body, 'body')
}
