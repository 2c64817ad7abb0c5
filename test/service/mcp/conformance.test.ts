// The protocol's own conformance suite against the deployed function: every scenario that does not call tools of its own by name.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Deployment, deploy, root, token } from '../kit.js'

let here: Deployment
let proxy: { url: string; close(): void }

/** The suite sends no token. This adds one, and changes nothing else. */
async function addToken(target: string) {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, response) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` }
    const { method = 'GET', url: path = '/' } = incoming
    const outgoing = request({ hostname, port, method, path, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/mcp`, close: () => server.close() }
}

beforeAll(async () => {
  here = await deploy()
  proxy = await addToken(here.url)
}, 120_000)

afterAll(async () => {
  proxy?.close()
  await here?.close()
})

const program = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

interface Check {
  id: string
  status: string
  errorMessage?: string
}

/** The checks that failed, but for those that call a tool which only a server made for the suite has. */
async function failures(revision: string, scenario: string): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'handoff-conformance-'))
  try {
    const words = ['server', '--url', proxy.url, '--scenario', scenario, '--spec-version', revision, '-o', folder]
    // The exit code counts checks that are not for us.
    await promisify(execFile)(process.execPath, [program, ...words]).catch(() => undefined)
    const [file] = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('checks.json'))
    const checks = JSON.parse(await readFile(join(folder, file!), 'utf8')) as Check[]
    expect(checks.length).toBeGreaterThan(0)
    const forOthers = /^Not testable: server does not list the diagnostic tool/
    return checks.filter(({ status, errorMessage = '' }) => status === 'FAILURE' && !forOthers.test(errorMessage))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const shared = ['tools-list', 'dns-rebinding-protection']

test.concurrent.each([
  ...[...shared, 'resources-list', 'prompts-list', 'server-initialize', 'ping'].map(
    (scenario) => ['2025-11-25', scenario] as const,
  ),
  ...[...shared, 'server-stateless', 'caching', 'sep-2164-resource-not-found', 'http-header-validation'].map(
    (scenario) => ['2026-07-28', scenario] as const,
  ),
])(
  'revision %s: %s',
  async (revision, scenario) => {
    expect(await failures(revision, scenario)).toEqual([])
  },
  120_000,
)
