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

export function object(properties: Record<string, Schema>, optional: string[] = []): Schema {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    additionalProperties: false,
  }
}
