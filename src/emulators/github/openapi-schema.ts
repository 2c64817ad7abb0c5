// Validation by the schemas of an OpenAPI 3.0 document.
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'

export interface Schema {
  $ref?: string
  type?: string
  format?: string
  nullable?: boolean
  enum?: unknown[]
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  items?: Schema
  minimum?: number
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
}

export interface Parameter {
  $ref?: string
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
  'x-multi-segment'?: boolean
}

interface Content {
  content?: Record<string, { schema?: Schema }>
}

export interface DescribedOperation {
  parameters?: Parameter[]
  requestBody?: Content & { required?: boolean }
  responses: Record<string, Content & { $ref?: string }>
}

export interface Document {
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, unknown> }
}

export function resolve<T extends object>(document: Document, value: T): T {
  const reference = (value as { $ref?: string }).$ref
  if (reference === undefined) return value
  const [, , kind = '', name = ''] = reference.split('/')
  return document.components[kind]![name] as T
}

export type Compile = (schema: Schema) => ValidateFunction

/** Schemas of OpenAPI 3.0 become JSON Schemas; each component is converted once, when something refers to it. */
export function makeCompiler(ajv: Ajv, document: Document): Compile {
  const compiled = new WeakMap<Schema, ValidateFunction>()
  const defined = new Set<string>()

  function define(name: string): string {
    if (!defined.has(name)) {
      defined.add(name)
      ajv.addSchema(convert(document.components.schemas[name]!), name)
    }
    return name
  }

  function convert(schema: Schema, composed = false): object {
    if (schema.$ref !== undefined) return { $ref: define(schema.$ref.split('/').at(-1)!) }
    const { nullable, allOf, anyOf, oneOf, items, properties, additionalProperties, ...plain } = schema
    const closed = properties !== undefined && !composed && allOf === undefined
    const extra = typeof additionalProperties === 'object' ? convert(additionalProperties) : additionalProperties
    const converted = {
      ...Object.fromEntries(Object.entries(plain).filter(([key]) => validatedKeywords.has(key))),
      ...(allOf && { allOf: allOf.map((one) => convert(one, allOf.length > 1)) }),
      // Two alternatives may both fit an object that GitHub means as one of them.
      ...((anyOf ?? oneOf) && { anyOf: (anyOf ?? oneOf)!.map((one) => convert(one, properties !== undefined)) }),
      ...(items && { items: convert(items) }),
      ...(properties && {
        properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, convert(one)])),
      }),
      ...(extra !== undefined ? { additionalProperties: extra } : closed && { additionalProperties: false }),
    }
    return nullable ? { anyOf: [{ type: 'null' }, converted] } : converted
  }

  return (schema) => {
    const known = compiled.get(schema)
    if (known) return known
    const validate = ajv.compile(convert(schema))
    compiled.set(schema, validate)
    return validate
  }
}

const validatedKeywords = new Set(
  'type format enum required minimum maximum minLength maxLength minItems maxItems pattern uniqueItems'.split(' '),
)

/** A number or a flag in an address is text. */
export function parseParameter(text: string, schema: Schema): unknown {
  if (schema.type === 'integer' && /^-?\d+$/.test(text)) return Number(text)
  if (schema.type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  return text
}

export function validationProblems(validate: ValidateFunction, value: unknown, what: string): string[] {
  if (validate(value)) return []
  return (validate.errors ?? []).slice(0, 5).map((error) => `${what}${error.instancePath} ${formatError(error)}`)
}

function formatError({ message = 'does not fit', params }: ErrorObject): string {
  const detail = params['additionalProperty'] ?? params['allowedValues'] ?? ''
  return `${message}${detail === '' ? '' : ` (${String(detail)})`}`
}
