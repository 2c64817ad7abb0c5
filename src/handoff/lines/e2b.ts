// The line to E2B: machines through its unmodified SDK.
//
//   service   one account: how calls are made, machines found and killed
//   options   what an account may refuse         create    making a machine, and never two
//   machine   commands, and the end              prepare   a plain machine made ready
//   errors    the one table                      programs  what is installed, here and in the template
import type { Sandbox, Sandboxes, SandboxRequest } from '../library/tools.js'
import { createSandbox } from './e2b/create.js'
import { makeMachine } from './e2b/machine.js'
import { isPlain, preparationHosts, prepare } from './e2b/prepare.js'
import { asOurs, findSandboxes, killSandbox, makeService, type SandboxSettings, type Service } from './e2b/service.js'

export type { SandboxSettings } from './e2b/service.js'

export function makeSandboxes(settings: SandboxSettings): Sandboxes {
  const service = makeService(settings)
  return {
    open: (request, signal) => open(service, request, signal),
    find: (metadata, signal) => asOurs(signal, 'Listing sandboxes', () => findSandboxes(service, metadata, signal)),
    kill: (id, signal) => asOurs(signal, `Killing sandbox ${id}`, () => killSandbox(service, id, signal)),
    async warm() {
      await service.sdk()
    },
  }
}

async function open(service: Service, request: SandboxRequest, signal: AbortSignal): Promise<Sandbox> {
  const plain = isPlain(service)
  const created = await createSandbox(service, request, plain ? preparationHosts(service) : [], signal)
  if (!plain) return makeMachine(service, created, request.lifetimeMs)
  try {
    const preparedMs = await prepare(service, created, request, signal)
    return makeMachine(service, created, request.lifetimeMs, preparedMs)
  } catch (error) {
    // What went wrong first is what matters; a machine that could not be killed ends with its lifetime.
    await makeMachine(service, created, request.lifetimeMs)
      .kill()
      .catch(() => undefined)
    throw error
  }
}
