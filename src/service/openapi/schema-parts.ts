// The recurring parts of the JSON Schemas.
import { depths } from '../../handoff/index-for-stored-answers.js'

export type Schema = Record<string, unknown>

export const text = (description?: string): Schema => ({
  type: 'string',
  ...(description === undefined ? {} : { description }),
})
export const address: Schema = { type: ['string', 'null'] }
export const count: Schema = { type: 'integer', minimum: 0 }
export const depth: Schema = { enum: depths }
export const flag: Schema = { type: 'boolean' }
export const time: Schema = { type: 'string', format: 'date-time' }
export const list = (items: Schema): Schema => ({ type: 'array', items })
export const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** A name that ends with a question mark is of a field that may be absent. */
export function object(fields: Record<string, Schema>): Schema {
  const named = Object.entries(fields).map(([name, field]) => [name.replace(/\?$/, ''), field])
  return {
    type: 'object',
    properties: Object.fromEntries(named),
    required: Object.keys(fields).filter((name) => !name.endsWith('?')),
    additionalProperties: false,
  }
}
