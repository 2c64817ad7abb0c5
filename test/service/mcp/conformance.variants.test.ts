// The protocol's own conformance suite: what a revision requires passes on the deployed function, or on our server with the suite's tools added.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startServer } from '../../../src/service/server/server.js'
import { type Deployment, deploy, root, token } from '../kit.js'
import { fixtureFunction } from './fixtures.js'

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
  status: string
  errorMessage?: string
}

/** Runs all that a revision requires. The checks that failed, by scenario; a scenario in which nothing failed has none. */
async function failures(url: string, revision: string): Promise<Record<string, string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'handoff-conformance-'))
  try {
    // The exit code counts scenarios that are not for us.
    await promisify(execFile)(process.execPath, [
      ...[program, 'server', '--url', url, '--requirements', revision, '-o', folder],
    ]).catch(() => undefined)
    const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('checks.json'))
    const found = files.map(async (file) => {
      const checks = JSON.parse(await readFile(join(folder, file), 'utf8')) as Check[]
      const failed = checks.filter(({ status }) => status === 'FAILURE').map(({ errorMessage = '' }) => errorMessage)
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(dirname(file))?.[1] ?? dirname(file)
      return [scenario, checks.length === 0 ? ['Nothing was checked.'] : failed] as const
    })
    return Object.fromEntries(await Promise.all(found))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What our server, and any that keeps no sessions, cannot do for clients of this revision. */
const cannotApply: Record<string, Record<string, string>> = {
  '2025-11-25': {
    ...Object.fromEntries(
      [
        'tools-call-sampling',
        'tools-call-elicitation',
        'elicitation-sep1034-defaults',
        'elicitation-sep1330-enums',
      ].map((scenario) => [scenario, 'The client replies in a request of its own, which may reach another instance.']),
    ),
    'resources-subscribe': 'Lines of a commit never change.',
    'resources-unsubscribe': 'Lines of a commit never change.',
  },
  '2026-07-28': {},
}

/** A check that wants a tool which only a server made for the suite has. */
const wantsFixture = /^Not testable: server does not list the diagnostic tool/

/** What passes on the function itself. The others call tools, prompts or resources that only a server made for the suite has. */
const withoutFixtures: Record<string, string[]> = {
  '2025-11-25': [
    ...['dns-rebinding-protection', 'ping', 'prompts-list', 'resources-list', 'server-initialize'],
    ...['server-sse-multiple-streams', 'tools-list'],
  ],
  '2026-07-28': [
    ...['caching', 'dns-rebinding-protection', 'http-header-validation', 'prompts-list', 'resources-list'],
    ...['sep-2164-resource-not-found', 'server-sse-multiple-streams', 'tools-list'],
    ...['input-required-result-unsupported-methods', 'server-stateless'],
  ],
}

/** The scenarios that decide whether a server conforms. */
async function requiredScenarios(revision: string): Promise<string[]> {
  const file = join(dirname(program), `../requirements/${revision}.yaml`)
  return (parse(await readFile(file, 'utf8')) as { server: string[] }).server
}

test.each(['2025-11-25', '2026-07-28'])(
  'what revision %s requires',
  async (revision) => {
    const settings = { outputDirectory: '', functions: {}, headers: [], rewrites: [] }
    const [host, load] = ['127.0.0.1', async () => fixtureFunction()]
    const own = await startServer({ settings, staticFolder: tmpdir(), load, settingsOf: () => ({}), host, port: 0 })
    const onFunction = await failures(proxy.url, revision)
    const withFixtures = await failures(`${own.url}/api/mcp`, revision)
    await own.close()
    for (const scenario of withoutFixtures[revision]!)
      expect(
        onFunction[scenario]?.filter((message) => !wantsFixture.test(message)),
        scenario,
      ).toEqual([])
    const required = await requiredScenarios(revision)
    expect(Object.keys(withFixtures)).toEqual(expect.arrayContaining(required))
    const passes = (found: Record<string, string[]>, scenario: string) => found[scenario]?.length === 0
    const failed = required.filter((one) => !passes(onFunction, one) && !passes(withFixtures, one))
    expect(Object.fromEntries(failed.map((one) => [one, withFixtures[one]]))).toEqual(
      Object.fromEntries(Object.keys(cannotApply[revision]!).map((one) => [one, expect.anything()])),
    )
  },
  240_000,
)
