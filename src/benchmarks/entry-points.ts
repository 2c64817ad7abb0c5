// What a stored answer costs over MCP and over /v1, beside /api/ask: in one process that has loaded all three, in turns.
import type { ServiceBed } from './service-fixture.js'

const rounds = 60
const warmUps = 10

interface EntryPoint {
  path: string
  body: string
  headers?: Record<string, string>
}

/** The times of each entry point in milliseconds. */
export async function timeEntryPoints(bed: ServiceBed): Promise<Map<string, number[]>> {
  const asked = bed.question('What is asked at every entry point?')
  const { repository, run, question } = asked as Record<'repository' | 'run' | 'question', string>
  const call = { name: 'ask_question', arguments: { repository, question, ref: run } }
  const entryPoints: Record<string, EntryPoint> = {
    '/api/ask': { path: '/api/ask', body: JSON.stringify(asked) },
    '/api/mcp': {
      path: '/api/mcp',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...call, _meta: modern } }),
      headers: { 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': call.name },
    },
    '/v1': {
      path: '/v1/chat/completions',
      body: JSON.stringify({ model: `${repository}@${run}`, messages: [{ role: 'user', content: question }] }),
    },
  }
  const times = new Map(Object.keys(entryPoints).map((name) => [name, [] as number[]]))
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, entryPoint] of Object.entries(entryPoints)) {
      const started = performance.now()
      await ask(bed, entryPoint)
      if (round >= 0) times.get(name)!.push(performance.now() - started)
    }
  }
  return times
}

const revision = '2026-07-28'
const modern = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientCapabilities': {},
}

async function ask({ url, token }: ServiceBed, { path, body, headers }: EntryPoint): Promise<void> {
  const accept = path === '/api/mcp' ? 'application/json, text/event-stream' : 'application/json'
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${token}`, ...headers },
  })
  const text = await response.text()
  if (!response.ok || text.includes('"isError":true'))
    throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`)
}
