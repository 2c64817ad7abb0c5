// The local E2B cloud: a control plane and, behind one edge, a machine for each sandbox, as far as the unmodified SDK asks for it.
//
//   account.ts            what the account may do
//   control-plane.ts      creates, lists and ends sandboxes, and their templates
//   templates.ts, base-template.ts   the builder, which builds nothing, and E2B's own template, with neither Node nor drive9
//   envd.ts, commands.ts  finds the sandbox of a request, and what runs in it
//   sandbox.ts, sandbox-directory.ts   one sandbox: its clock, its end, its directories, and what is not isolated
//   lifecycle-webhooks.ts events of sandboxes, signed
//   connect-protocol.ts   how an error and a stream look
//   processes.ts, clean-up.ts   no process outlives its sandbox
//
// A sandbox here is a directory, an environment and some processes, not a container: it is for programs one trusts.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freshId, type LocalServer, type RecordedRequest, type Reply, startServer } from '../faulty-server.js'
import type { Account } from './account.js'
import { baseSearchPath } from './base-template.js'
import { Refusal, sayNo } from './connect-protocol.js'
import { type Cloud, serveControl } from './control-plane.js'
import { destinationOf, serveEdge } from './envd.js'
import { type Delivery, makeWebhookDesk } from './lifecycle-webhooks.js'
import { markerOf } from './processes.js'
import { endSandbox, type SandboxRecord } from './sandbox.js'
import { clearDirectory, makeCloudDirectory } from './sandbox-directory.js'
import { makeTemplateShelf, type Template } from './templates.js'

export type { SandboxRecord } from './sandbox.js'

export interface SandboxCloudOptions {
  port?: number
  /** Keys that are accepted; a new one when absent. */
  apiKeys?: string[]
  /** Folders that come first on the PATH of every sandbox, those of `base` too. */
  path?: string[]
  /** Folders with programs that every template has and `base` has not. */
  programs?: string[]
  /** Added to the environment of every command. */
  environment?: Record<string, string>
  /** Names of templates that exist from the start beside `base`; `handoff` when absent, and an empty list is a new account. */
  templates?: string[]
  /** Duration of a build whose log no client reads; one second when absent. */
  buildMilliseconds?: number
  account?: Partial<Account>
  /** Between the attempts to deliver an event; ten seconds when absent. */
  webhookPauseMilliseconds?: number
}

export interface SandboxCloud extends LocalServer {
  /** What a program needs in its environment so that the SDK comes here. */
  settings: { E2B_API_KEY: string; E2B_API_URL: string; E2B_SANDBOX_URL: string; E2B_TEMPLATE?: string }
  /** All there ever were, the oldest first. */
  sandboxes: readonly SandboxRecord[]
  templates: readonly Template[]
  /** What was asked for and refused because the cloud does not have it. */
  unsupported: readonly string[]
  /** May be changed while it runs. */
  account: Account
  /** Which folder holds all the sandboxes. */
  directory: string
  /** The next build of a template ends with this error at this step, counted from 1. */
  failNextBuild: (step: number, message: string) => void
  /** Every attempt to deliver an event to a webhook. */
  deliveries: readonly Delivery[]
  /** The node of a sandbox goes: its connections say nothing any more, and an event is all that is heard of it. */
  loseSandbox: (id: string) => Promise<void>
}

const usual: Account = { concurrentLimit: 20, egressRules: true, headerTransforms: false, maximumLifetimeHours: 1 }
const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

export async function startSandboxCloud(options: SandboxCloudOptions = {}): Promise<SandboxCloud> {
  const { path = [], templates = ['handoff'] } = options
  const directory = makeCloudDirectory()
  const cloud: Cloud = {
    account: { ...usual, ...options.account },
    apiKeys: options.apiKeys ?? [`e2b_${freshId()}`],
    prefix: `i${randomUUID().replaceAll('-', '').slice(0, 8)}`,
    directory,
    searchPath: [...path, ...(options.programs ?? []), dirname(process.execPath), ...systemPath].join(':'),
    baseSearchPath: (sandbox) => [...path, baseSearchPath(sandbox, systemPath)].join(':'),
    environment: options.environment ?? {},
    sandboxes: [],
    shelf: makeTemplateShelf(templates, options.buildMilliseconds ?? 1_000),
    webhooks: makeWebhookDesk(options.webhookPauseMilliseconds),
  }
  const dismissGuard = startCleanUpGuard(cloud)
  const unsupported: string[] = []
  const serve = (request: RecordedRequest, response: ServerResponse) => answer(cloud, request, response, unsupported)
  const server = await startServer('the local E2B cloud', serve, options.port ? { port: options.port } : {})
  const close = once(async () => {
    cloud.webhooks.stop.abort()
    await server.close()
    await Promise.all(
      cloud.sandboxes.filter(({ killedAt }) => !killedAt).map((sandbox) => endSandbox(sandbox, 'closed')),
    )
    await clearDirectory(cloud.directory)
    dismissGuard()
  })
  return {
    ...server,
    settings: {
      E2B_API_KEY: cloud.apiKeys[0] ?? '',
      E2B_API_URL: server.url,
      E2B_SANDBOX_URL: server.url,
      ...(templates[0] === undefined ? {} : { E2B_TEMPLATE: templates[0] }),
    },
    sandboxes: cloud.sandboxes,
    templates: cloud.shelf.templates,
    unsupported,
    account: cloud.account,
    directory: cloud.directory,
    failNextBuild: (step, message) => cloud.shelf.failures.push({ step, message }),
    deliveries: cloud.webhooks.deliveries,
    async loseSandbox(id) {
      const sandbox = cloud.sandboxes.find((one) => one.id === id)
      if (sandbox) await endSandbox(sandbox, 'lost')
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function answer(
  cloud: Cloud,
  request: RecordedRequest,
  response: ServerResponse,
  unsupported: string[],
): Promise<Reply | undefined> {
  const destination = destinationOf(request)
  try {
    if (!destination) return await serveControl(cloud, request)
    const sandbox = cloud.sandboxes.find(({ id }) => id === destination.id)
    return await serveEdge(sandbox, destination, request, response)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.status === 501) unsupported.push(`${request.method} ${request.path}: ${error.message}`)
    return sayNo(error, request, response)
  }
}

const wait = 'if read -r line; then exit 0; fi; exec "$@"'

/** Starts the shell of clean-up.ts in its own session, so that Ctrl-C does not end it. Returns a function that ends it. */
function startCleanUpGuard({ prefix, directory }: Cloud): () => void {
  const beside = (file: string) => fileURLToPath(new URL(file, import.meta.url))
  const program = ['--import', beside('../../build/ts-loader.mjs'), beside('clean-up.ts'), markerOf(prefix), directory]
  const guard = spawn('/bin/sh', ['-c', wait, 'guard', process.execPath, ...program], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    cwd: '/',
  })
  guard.on('error', () => undefined)
  guard.stdin.on('error', () => undefined)
  guard.unref()
  if ('unref' in guard.stdin && typeof guard.stdin.unref === 'function') guard.stdin.unref()
  return () => {
    guard.stdin.end('dismissed\n')
  }
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => (done ??= action())
}
