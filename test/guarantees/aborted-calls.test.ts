// Callers that leave in the middle of a call, over MCP and over /v1: no machine, no stream, no timer and no work stays behind.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call, type Deployment, deploy, name, token } from '../service/kit.js'
import { randomFrom } from '../support/random.js'
import { until } from '../support/until.js'

const long = process.env['LONG'] === '1'
const calls = long ? 10_000 : 60
const atOnce = 20
let here: Deployment

beforeAll(async () => {
  here = await deploy({ quickFinds: true })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A question of its own each time, so that none is answered from the store. */
function requestOf(number: number): { path: string; body: unknown } {
  const question = `q${Math.abs(number).toString(36)}x${number < 0} w${(number * 7_919).toString(36)} z${(number * 104_729).toString(36)}?`
  const progress = number % 2 ? { _meta: { progressToken: number } } : {}
  if (Math.abs(number) % 3 === 0) {
    const params = { name: 'ask_question', arguments: { repository: name, question }, ...progress }
    return { path: '/api/mcp', body: { jsonrpc: '2.0', id: number, method: 'tools/call', params } }
  }
  if (Math.abs(number) % 3 === 1) {
    const params = { name: 'find_lines', arguments: { repository: name, query: question }, ...progress }
    return { path: '/api/mcp', body: { jsonrpc: '2.0', id: number, method: 'tools/call', params } }
  }
  const messages = [{ role: 'user', content: question }]
  return { path: '/v1/chat/completions', body: { model: name, messages, stream: number % 2 === 0 } }
}

test(
  `${calls} calls over MCP and /v1 are cut at random moments: nothing of them stays`,
  async () => {
    const random = randomFrom(Number(process.env['SEED'] ?? 17))
    const { functions } = here
    // The first calls load what keeps timers of its own.
    for (const number of [-1, -2, -3]) {
      const { path, body } = requestOf(number)
      await call(here.url, path, { method: 'POST', headers: json, body: JSON.stringify(body) })
    }
    await functions.timers()
    const leave = async (number: number) => {
      const { path, body } = requestOf(number)
      const signal = AbortSignal.timeout(random.below(long ? 400 : 1_500))
      const init = { method: 'POST', headers: json, body: JSON.stringify(body), signal }
      await call(here.url, path, init).catch(() => undefined)
    }
    for (let first = 0; first < calls; first += atOnce) {
      await Promise.all(Array.from({ length: Math.min(atOnce, calls - first) }, (_none, index) => leave(first + index)))
    }
    await until('no machine lives', () => here.living() === 0, 60_000)
    await until('the background is quiet', async () => (await functions.state()).pending === 0, 60_000)
    await until('no time limit is left', async () => (await functions.timers()) === 0, 60_000)
    expect(here.machines()).toBeGreaterThan(1)
    const headers = { ...json, authorization: `Bearer ${token}` }
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    expect((await call(here.url, '/api/mcp', { method: 'POST', headers, body: ping })).status).toBe(200)
  },
  long ? 3_600_000 : 180_000,
)
