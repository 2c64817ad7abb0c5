// The description against what the handlers do: every address and method, every status it promises nothing else, every body of its shape.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApiDocument } from '../../src/service/openapi/document.js'
import { type Answer, call, type Deployment, deploy, name, post } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy()
}, 200_000)

afterAll(async () => {
  await here?.close()
})

type Schema = ReturnType<typeof JSON.parse>
const document = openApiDocument('http://x') as Schema

/** What of JSON Schema the description uses, and nothing else. */
function problems(value: unknown, schema: Schema, at = ''): string[] {
  if (schema.$ref) return problems(value, document.components.schemas[schema.$ref.split('/').at(-1)], at)
  const found: string[] = []
  if (schema.const !== undefined && value !== schema.const) found.push(`${at} is not ${schema.const}`)
  if (schema.enum && !schema.enum.includes(value)) found.push(`${at} is none of ${schema.enum}`)
  if (schema.type && ![schema.type].flat().some((type: string) => hasType(value, type)))
    found.push(`${at} is no ${schema.type}`)
  if (schema.pattern && typeof value === 'string' && !new RegExp(schema.pattern).test(value))
    found.push(`${at} is not like ${schema.pattern}`)
  if (schema.minimum !== undefined && typeof value === 'number' && value < schema.minimum)
    found.push(`${at} is too small`)
  if (schema.items && Array.isArray(value))
    found.push(...value.flatMap((one, index) => problems(one, schema.items, `${at}[${index}]`)))
  if (schema.oneOf && schema.oneOf.filter((one: Schema) => problems(value, one, at).length === 0).length !== 1)
    found.push(`${at} is not exactly one of ${schema.oneOf.length}`)
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    found.push(...objectProblems(value as Record<string, unknown>, schema, at))
  return found
}

function objectProblems(value: Record<string, unknown>, schema: Schema, at: string): string[] {
  const missing = (schema.required ?? [])
    .filter((key: string) => !(key in value))
    .map((key: string) => `${at}.${key} is missing`)
  const inside = Object.entries(value).flatMap(([key, one]) => {
    const known = schema.properties?.[key]
    if (known) return problems(one, known, `${at}.${key}`)
    if (schema.additionalProperties === false) return [`${at}.${key} is not described`]
    return typeof schema.additionalProperties === 'object'
      ? problems(one, schema.additionalProperties, `${at}.${key}`)
      : []
  })
  return [...missing, ...inside]
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'integer') return Number.isInteger(value)
  return type === 'object'
    ? typeof value === 'object' && value !== null && !Array.isArray(value)
    : typeof value === type
}

function check(path: string, method: string, answer: Answer): void {
  const described = document.paths[path]?.[method]?.responses?.[answer.status]
  expect(described, `${method} ${path} says nothing of ${answer.status}`).toBeDefined()
  const type = answer.headers.get('content-type')?.split(';')[0] ?? ''
  const content = described.content?.[type]
  expect(content, `${method} ${path} ${answer.status} says nothing of ${type}`).toBeDefined()
  expect(problems(answer.body, content.schema)).toEqual([])
}

test('the document is served as it stands, and speaks of this deployment', async () => {
  const { status, body } = await call(here.url, '/api/openapi', { token: null })
  expect(status).toBe(200)
  expect(body).toEqual(JSON.parse(JSON.stringify(openApiDocument(here.url))))
})

test('every reference leads somewhere, and every operation has a name of its own', () => {
  const text = JSON.stringify(document)
  const references = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]!)
  expect(references.filter((one) => !(one in document.components.schemas))).toEqual([])
  const names = [...text.matchAll(/"operationId":"(\w+)"/g)].map((match) => match[1]!)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBe(20)
})

test('every operation names what the directory behind it may do to it', () => {
  const without = (path: string) => ['/api/health', '/api/openapi'].includes(path) || path.startsWith('/api/auth/')
  for (const [path, methods] of Object.entries(document.paths) as [string, Record<string, Schema>][]) {
    for (const { operationId, responses } of Object.values(methods)) {
      const named = [405, 500, ...(without(path) ? [] : [502, 503, 504, 507])].filter(
        (status) => !(status in responses),
      )
      expect({ operationId, unnamed: named }).toEqual({ operationId, unnamed: [] })
    }
  }
})

test('answers, runs and problems are as described', async () => {
  const asked = { repository: name, run: here.run.run, question: 'How is the token refreshed?' }
  expect(problems(asked, { $ref: '#/components/schemas/Question' })).toEqual([])
  expect(problems({ ...asked, more: 1 }, { $ref: '#/components/schemas/Question' })).not.toEqual([])
  const answer = await post(here.url, asked)
  check('/api/ask', 'post', answer)
  check(
    '/api/ask',
    'post',
    await post(here.url, { ...asked, question: 'Which colour is it?' }, { prefer: 'respond-async' }),
  )
  for (const wrong of [
    await post(here.url, {}),
    await post(here.url, asked, {}, null),
    await post(here.url, { ...asked, repository: 'other/x' }),
    await post(here.url, { ...asked, run: `${'a'.repeat(40)}-1` }),
    await post(here.url, asked, { accept: 'text/html' }),
    await post(here.url, asked, { 'content-type': 'text/plain' }),
  ]) {
    check('/api/ask', 'post', wrong)
  }
  const query = `?repository=${encodeURIComponent(name)}`
  const at = `/api/runs/${here.run.run}`
  check('/api/runs', 'get', await call(here.url, '/api/runs'))
  check('/api/runs', 'get', await call(here.url, `/api/runs${query}`))
  check('/api/runs', 'get', await call(here.url, `/api/runs${query}&ref=main`))
  check('/api/runs/{run}', 'get', await call(here.url, `${at}${query}`))
  check('/api/runs/{run}/answers', 'get', await call(here.url, `${at}/answers${query}`))
  check('/api/runs/{run}/answers/{answer}', 'get', await call(here.url, answer.body.self))
  check('/api/runs/{run}/answers/{answer}', 'get', await call(here.url, `${at}/answers/${'0'.repeat(32)}${query}`))
  const [{ path, from }] = answer.body.citations
  check('/api/runs/{run}/files', 'get', await call(here.url, `${at}/files${query}&path=${path}&from=${from}`))
  check('/api/auth/session', 'get', await call(here.url, '/api/auth/session', { token: null }))
  check('/v1/models', 'get', await call(here.url, '/v1/models'))
  check('/v1/models/{model}', 'get', await call(here.url, `/v1/models/${encodeURIComponent(`${name}@main`)}`))
  const chat = { model: name, messages: [{ role: 'user', content: 'How is the token refreshed?' }] }
  for (const body of [chat, { ...chat, model: 'other/x' }, {}]) {
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    check('/v1/chat/completions', 'post', await call(here.url, '/v1/chat/completions', init))
  }
  check('/api/health', 'get', await call(here.url, '/api/health', { token: null }))
  check('/api/health', 'get', await call(here.url, '/api/health?deep=1'))
  check('/api/github', 'post', await call(here.url, '/api/github', { method: 'POST', body: '{}' }))
  check('/api/sandboxes', 'post', await call(here.url, '/api/sandboxes', { method: 'POST', body: '{}' }))
})

test('what is described is there, and answers other methods with what it takes', async () => {
  for (const [path, methods] of Object.entries(document.paths) as [string, Record<string, unknown>][]) {
    const real = path.replace('{run}', here.run.run).replace('{answer}', '0'.repeat(32)).replace('{model}', 'x')
    // PATCH is the address of an answer's own.
    const method = 'patch' in methods ? 'PUT' : 'PATCH'
    const { status, headers } = await call(here.url, real, { method })
    expect({ path, status }).toEqual({ path, status: 405 })
    expect(Object.keys(methods).every((one) => headers.get('allow')?.includes(one.toUpperCase()))).toBe(true)
  }
})

test('its examples are as it describes them, and each parameter has a description', () => {
  const { requestBody, responses } = document.paths['/api/ask'].post
  const question = requestBody.content['application/json']
  const answer = responses[200].content['application/json']
  expect(problems(question.example, question.schema)).toEqual([])
  expect(problems(answer.example, answer.schema)).toEqual([])
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path as Schema)) as Schema[]
  const parameters = operations.flatMap(({ parameters: list = [] }) => list)
  expect(parameters.filter(({ description = '' }: Schema) => description.length < 5)).toEqual([])
  expect(parameters.map((one: Schema) => one.name)).not.toContain('Accept')
})
