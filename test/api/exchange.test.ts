// A bug of ours, as callers see it: a problem document with an id to report, and nothing of the inside.
import { expect, test } from 'vitest'
import { serve } from '../../api/_exchange.js'

const manner = { name: 'test', corsOrigins: () => [], redact: (text: string) => text, seconds: 5 }
const oops = new TypeError("Cannot read properties of undefined (reading 'secretPlace')")

test.each<[string, () => never | Promise<never>]>([
  [
    'thrown',
    () => {
      throw oops
    },
  ],
  ['rejected', () => Promise.reject(oops)],
  // What is thrown may be anything.
  ['a text', () => Promise.reject('secretPlace')],
])('500: %s', async (_how, handler) => {
  const response = await serve({ GET: handler }, manner).fetch(new Request('http://service.example/api/x'))
  const text = await response.text()
  expect(response.status).toBe(500)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(JSON.parse(text)).toMatchObject({
    status: 500,
    code: 'internal',
    requestId: response.headers.get('x-request-id'),
    next: expect.stringContaining('request id'),
  })
  expect(text).not.toMatch(/secretPlace|TypeError|\bat\b .*:\d+/)
})
