// Client of E2B: sandboxes, by its unmodified SDK.
//
//   service   one account: how calls are made, machines found and killed
//   options   what an account may refuse         create    making a machine, and never two
//   machine   commands, and the end              prepare   a sandbox of base made ready
//   errors    the one table                      programs  what is installed, here and in the template
//   release   which drive9 program
import { isHandoffError } from '../../domain/errors.js'
import type { Sandbox, Sandboxes, SandboxRequest } from '../../domain/ports.js'
import { buildInBackground } from './build-template.js'
import { createSandbox } from './create-sandbox.js'
import { failureOf } from './errors.js'
import { templateName } from './install-scripts.js'
import { preparationHosts, prepare } from './provision-base.js'
import { type Program, publishedProgram } from './release.js'
import { makeMachine } from './sandbox.js'
import { asOurs, findSandboxes, killSandbox, makeService, type Service } from './sdk-calls.js'

import type { SandboxSettings } from './settings.js'

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
  const { template = templateName(service.settings.binary) } = service.settings
  if (template.split(':')[0] === 'base') return openBase(service, request, template, signal)
  try {
    return makeMachine(service, await createSandbox(service, request, template, [], signal), request)
  } catch (error) {
    const missing = isHandoffError(error) && failureOf(error.cause).status === 404
    if (service.settings.template !== undefined || !missing) throw error
    return openBase(service, request, 'base', signal, template)
  }
}

/** A sandbox that needs no template of ours. While it is prepared, E2B is asked to build the one that is `wanted`. */
async function openBase(
  service: Service,
  request: SandboxRequest,
  template: string,
  signal: AbortSignal,
  wanted?: string,
): Promise<Sandbox> {
  const program = await publishedProgram(service.settings.binary, signal)
  const created = await createSandbox(service, request, template, preparationHosts(program), signal)
  const building = wanted === undefined ? advice : startBuild(service, program, signal)
  try {
    const [preparedMs, then] = await Promise.all([prepare(service, created, request, program, signal), building])
    const why = wanted === undefined ? '' : `This E2B account has no template ${wanted} yet. `
    service.notice(`${why}Preparing a sandbox from base took ${(preparedMs / 1_000).toFixed(1)} s. ${then}`)
    return makeMachine(service, created, request)
  } catch (error) {
    // What went wrong first is what matters; a machine that could not be killed ends with its lifetime.
    await makeMachine(service, created, request)
      .kill()
      .catch(() => undefined)
    throw error
  }
}

const advice = 'Where E2B_TEMPLATE is empty, E2B builds a template for later runs that needs none of it.'

/** Once for a process, whatever number of sandboxes it opens meanwhile. That it fails costs later runs time, and this one nothing. */
async function startBuild(service: Service, program: Program, signal: AbortSignal): Promise<string> {
  service.building ??= buildInBackground(service, program, signal)
  try {
    return await service.building
  } catch (error) {
    delete service.building
    if (!isHandoffError(error)) throw error
    return `${error.message} The next run tries again.`
  }
}
