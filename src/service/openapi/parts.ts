// The recurring parts of the OpenAPI description.

import { reference as schema } from './schema-parts.js'

export type Part = Record<string, unknown>

export const json = (name: string, description: string, headers: string[] = [], example?: unknown): Part => ({
  description,
  content: { 'application/json': { schema: schema(name), ...(example === undefined ? {} : { example }) } },
  ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers.map((one) => [one, header])) }),
})
export const header: Part = { schema: { type: 'string' } }

export const problems: Record<number, string> = {
  400: 'What was sent makes no sense.',
  401: 'The caller is not authenticated, or the session has ended.',
  403: 'The token may not see this.',
  404: 'There is no such thing.',
  405: 'Another method is wanted; see Allow.',
  406: 'The answer does not come in this form.',
  409: 'Not now: the same request is being answered, or the run is not complete.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The Idempotency-Key stands for another question.',
  429: 'The caller has spent the budget of the day; see Retry-After.',
  500: 'A bug of ours.',
  501: 'What is stored was written by a newer handoff.',
  502: 'The sandbox, the directory, the model or GitHub failed.',
  503: 'No sandbox is free, or a setting is missing; see Retry-After.',
  504: 'Time ran out.',
  507: 'The directory has no room.',
}

/** Statuses that pass by themselves, at least for some of their codes. */
const waiting = [409, 429, 502, 503, 504]

export function errorResponses(...statuses: number[]): Part {
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      {
        description: problems[status],
        ...(waiting.includes(status) ? { headers: { 'Retry-After': header } } : {}),
        content: { 'application/problem+json': { schema: schema('Problem') } },
      },
    ]),
  )
}

const parameter = (where: string, name: string, description: string, more: Part = {}): Part => ({
  name,
  in: where,
  description,
  schema: { type: 'string' },
  ...more,
})
export const query = (name: string, required: boolean, description: string, type = 'string'): Part =>
  parameter('query', name, description, { required, schema: { type } })
export const inPath = (name: string, description: string): Part =>
  parameter('path', name, description, { required: true })
export const inHeader = (name: string, description: string): Part => parameter('header', name, description)
