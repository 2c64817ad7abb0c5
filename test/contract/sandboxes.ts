// What the unmodified SDK may expect of an E2B service, whichever it is. Bound to the local cloud always, and to a real one by `test:live`.
//
// Written so that it holds for the real service: it knows nothing of where a sandbox keeps its files, and asks for machines sparingly.
import { Sandbox, type SandboxOpts } from 'e2b'
import { afterAll, beforeAll, describe } from 'vitest'
import { commandContract } from './sandboxes/commands.js'
import type { SandboxFixture, SandboxService } from './sandboxes/fixture.js'
import { failureContract, lifecycleContract } from './sandboxes/lifecycle.js'

export function sandboxServiceContract(name: string, start: () => Promise<SandboxService>): void {
  describe(name, () => {
    const opened: Sandbox[] = []
    const fixture = {} as SandboxFixture

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
      Object.assign(fixture, service, { open, shared: await open() })
    })

    afterAll(async () => {
      await Promise.allSettled(opened.map((sandbox) => sandbox.kill()))
      await fixture.stop?.()
    })

    describe('lifecycle', () => lifecycleContract(fixture))
    describe('failures', () => failureContract(fixture))
    describe('commands', () => commandContract(fixture))
  })
}
