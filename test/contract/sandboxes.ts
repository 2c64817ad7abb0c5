// What the unmodified SDK may expect of an E2B service, whichever it is. Bound to the local cloud always, and to a real one by `test:live`.
//
// Written so that it holds for the real service: it knows nothing of where a sandbox keeps its files, and asks for machines sparingly.
import { Sandbox, type SandboxOpts } from 'e2b'
import { afterAll, beforeAll, describe } from 'vitest'
import { commandContract } from './sandboxes/commands.js'
import { fileContract } from './sandboxes/files.js'
import { failureContract, lifecycleContract } from './sandboxes/lifecycle.js'
import { watchContract } from './sandboxes/watch.js'

export interface SandboxService {
  /** What every call of the SDK is given. */
  connection: { apiKey: string; domain?: string; apiUrl?: string; sandboxUrl?: string }
  template: string
  stop: () => Promise<void>
}

/** A service with a machine that the tests of one room share. */
export interface Bench extends SandboxService {
  /** One that is up for all tests that do not end it. */
  shared: Sandbox
  open: (options?: SandboxOpts) => Promise<Sandbox>
}

export function sandboxServiceContract(name: string, start: () => Promise<SandboxService>): void {
  describe(name, () => {
    const opened: Sandbox[] = []
    const bench = {} as Bench

    beforeAll(async () => {
      const service = await start()
      const open = async (options: SandboxOpts = {}) => {
        const sandbox = await Sandbox.create(service.template, {
          timeoutMs: 120_000,
          ...service.connection,
          ...options,
        })
        opened.push(sandbox)
        return sandbox
      }
      Object.assign(bench, service, { open, shared: await open() })
    })

    afterAll(async () => {
      await Promise.allSettled(opened.map((sandbox) => sandbox.kill()))
      await bench.stop?.()
    })

    describe('lifecycle', () => lifecycleContract(bench))
    describe('failures', () => failureContract(bench))
    describe('commands', () => commandContract(bench))
    describe('files', () => fileContract(bench))
    describe('watching', () => watchContract(bench))
  })
}
