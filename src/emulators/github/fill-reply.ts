// Completes a reply of the local GitHub to what GitHub's description requires.
//
// A repository has ninety properties there and the product reads five. The local GitHub says those five; the rest get a placeholder of the right type,
// which no one can take for a fact: a product that reads one of them fails in the test that should have given it a value.
import type { Description } from './openapi-description.js'
import type { Schema } from './openapi-schema.js'

const placeholders: Record<string, unknown> = {
  integer: 0,
  number: 0,
  boolean: false,
  array: [],
}

const texts: Record<string, string> = {
  uri: 'https://placeholder.invalid/',
  'date-time': '1970-01-01T00:00:00Z',
}

export function fillRequiredProperties(description: Description, schema: Schema, value: unknown): unknown {
  const { allOf } = description.resolve(schema)
  // The last part of a composed schema is the narrowest.
  if (allOf) return allOf.reduceRight((whole, part) => fillRequiredProperties(description, part, whole), value)
  const found = alternative(description, schema, value)
  if (Array.isArray(value)) {
    const { items } = found
    return items ? value.map((one) => fillRequiredProperties(description, items, one)) : value
  }
  if (typeof value !== 'object' || value === null) return value
  const { properties = {}, required = [] } = found
  const given = Object.entries(value).map(([name, one]) => {
    const known = properties[name]
    return [name, known ? fillRequiredProperties(description, known, one) : one] as const
  })
  const missing = required.filter((name) => !Object.hasOwn(value, name))
  return Object.fromEntries([...given, ...missing.map((name) => [name, placeholder(description, properties[name]!)])])
}

/** The schema itself, behind references; of several the first that knows all properties that are given. */
function alternative(description: Description, schema: Schema, value: unknown): Schema {
  const found = description.resolve(schema)
  const several = found.properties ? undefined : (found.allOf ?? found.anyOf ?? found.oneOf)
  if (!several) return found
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  const all = several.map((one) => alternative(description, one, value))
  return all.find(({ properties = {} }) => names.every((name) => Object.hasOwn(properties, name))) ?? all[0]!
}

function placeholder(description: Description, schema: Schema): unknown {
  if (schema.nullable) return null
  const found = alternative(description, schema, {})
  if (found.nullable) return null
  if (found.enum) return found.enum[0]
  if (found.properties || found.type === 'object') return fillRequiredProperties(description, found, {})
  return placeholders[found.type ?? ''] ?? texts[found.format ?? ''] ?? ''
}
