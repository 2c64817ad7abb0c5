// Preparing a sandbox of E2B's own `base`, which has neither Node nor drive9. One command installs what is missing; for that the sandbox may
// reach the hosts it is downloaded from, and after it only those it was to reach in the first place.
import type { Sandbox as SdkSandbox } from 'e2b'
import { HandoffError } from '../../domain/errors.js'
import type { SandboxRequest } from '../../domain/ports.js'
import type { Created } from './create-sandbox.js'
import { exitCodeOf } from './errors.js'
import { nodeHost, recipe } from './install-scripts.js'
import { networkOf } from './network-options.js'
import type { Program } from './release.js'
import { asOurs, replied, type Service } from './sdk-calls.js'

const packageHosts = [
  'deb.debian.org',
  'security.debian.org',
  'archive.ubuntu.com',
  'security.ubuntu.com',
  'deb.nodesource.com',
]
const prepareMs = 240_000

/** The hosts that a sandbox is prepared from. */
export function preparationHosts(program: Program): string[] {
  return [...packageHosts, nodeHost, new URL(program.url).host]
}

// Each step is a program of its own: a shell that is asked whether a part of it failed does not stop inside that part.
const script = recipe
  .map(({ script: step, exitCode }) => `bash <<'STEP' >&2 || exit ${exitCode}\n${step}\nSTEP`)
  .join('\n')

/** Resolves with the milliseconds it took. */
export async function prepare(
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
