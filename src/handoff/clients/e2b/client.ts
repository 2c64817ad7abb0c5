// Client of E2B: sandboxes, by its unmodified SDK.
//
//   sdk-calls.ts         one account: how calls are made, sandboxes found and killed
//   create-sandbox.ts    creates a sandbox, and never two
//   sandbox.ts           its commands, files and end
//   keep-alive.ts        renews its lifetime while its owner lives
//   network-options.ts   what it may reach
//   build-template.ts, install-scripts.ts, release.ts   what is installed in it
//   lifecycle-webhook.ts events that E2B signs
//   errors.ts            what a failure of E2B means

import type { Sandbox as SdkSandbox } from 'e2b'
import { HandoffError, ignoreFailure, isHandoffError } from '../../domain/errors.js'
import type { Sandbox, Sandboxes, SandboxRequest } from '../../domain/ports.js'
import { buildInBackground } from './build-template.js'
import { type Created, createSandbox } from './create-sandbox.js'
import { exitCodeOf, failureOf } from './errors.js'
import { nodeHost, recipe, templateName } from './install-scripts.js'
import { networkOf } from './network-options.js'
import { type Program, publishedProgram } from './release.js'
import { endOpenMachine, makeMachine } from './sandbox.js'
import type { ClientSettings } from './sdk-calls.js'
import { asOurs, findSandboxes, killSandbox, makeService, replied, type Service } from './sdk-calls.js'

export function makeSandboxes(settings: ClientSettings): Sandboxes {
  const service = makeService(settings)
  return {
    open: (request, signal) => open(service, request, signal),
    find: (metadata, signal) => asOurs(signal, 'Listing sandboxes', () => findSandboxes(service, metadata, signal)),
    kill: (id, signal) => asOurs(signal, `Killing sandbox ${id}`, () => killSandbox(service, id, signal)),
    endedOutside: async (id, reason) => endOpenMachine(id, reason),
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
    await makeMachine(service, created, request).kill().catch(ignoreFailure)
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

// Preparing a sandbox of E2B's own `base`, which has neither Node nor drive9. One command installs what is missing; for that the sandbox may
// reach the hosts it is downloaded from, and after it only those it was to reach in the first place.

const packageHosts = [
  'deb.debian.org',
  'security.debian.org',
  'archive.ubuntu.com',
  'security.ubuntu.com',
  'deb.nodesource.com',
]
const prepareMs = 240_000

/** The hosts that a sandbox is prepared from. */
function preparationHosts(program: Program): string[] {
  return [...packageHosts, nodeHost, new URL(program.url).host]
}

// Each step is a program of its own: a shell that is asked whether a part of it failed does not stop inside that part.
const script = recipe
  .map(({ script: step, exitCode }) => `bash <<'STEP' >&2 || exit ${exitCode}\n${step}\nSTEP`)
  .join('\n')

/** Resolves with the milliseconds it took. */
async function prepare(
  service: Service,
  created: Created,
  request: SandboxRequest,
  program: Program,
  signal: AbortSignal,
): Promise<number> {
  const { sandbox, options } = created
  const started = performance.now()
  const doing = `Preparing sandbox ${sandbox.sandboxId} from base`
  await asOurs(signal, doing, async () => {
    const envs = { DRIVE9_BINARY_URL: program.url, DRIVE9_BINARY_SHA256: program.sha256 }
    const exitCode = await install(sandbox, envs, signal)
    if (exitCode !== 0) throw prepareError(service, doing, exitCode)
    if (options.egress) {
      const network = networkOf(request, options)
      await replied(service, signal, (connection) => sandbox.updateNetwork(network, connection))
    }
  })
  return Math.round(performance.now() - started)
}

async function install(sandbox: SdkSandbox, envs: Record<string, string>, signal: AbortSignal): Promise<number> {
  try {
    return (await sandbox.commands.run(script, { user: 'root', envs, timeoutMs: prepareMs, signal })).exitCode
  } catch (error) {
    const exitCode = exitCodeOf(error)
    if (exitCode === undefined) throw error
    return exitCode
  }
}

function prepareError({ settings }: Service, doing: string, exitCode: number): HandoffError {
  const step = recipe.find((one) => one.exitCode === exitCode)
  const list = settings.binary.sha256 === undefined ? 'what its publisher lists' : 'DRIVE9_BINARY_SHA256'
  const hash = step?.script.includes('DRIVE9_BINARY_URL') ? `, or does not hash to ${list}` : ''
  const why = step ? `${step.failure}${hash}` : `it ended with code ${exitCode}`
  return new HandoffError('sandbox', `${doing} failed: ${why}.`, {
    next: 'Try again. A template built once with `npm run setup` or `npm run template` needs no download at the start.',
  })
}
