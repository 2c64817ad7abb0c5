// The official client, connected to a deployment.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { token } from '../kit.js'

/** `modern` is the revision of 2026-07-28, without sessions; `legacy` is what most clients speak. */
export type Era = 'modern' | 'legacy'

export async function connect(url: string, era: Era, bearer = token): Promise<Client & AsyncDisposable> {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const headers = { authorization: `Bearer ${bearer}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/api/mcp`), { requestInit: { headers } }))
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}
