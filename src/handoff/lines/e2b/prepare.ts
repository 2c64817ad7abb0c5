// Preparing a plain machine: E2B's own `base` has neither drive9 nor what it needs. One command installs what is missing; for that the machine
// may reach the hosts it is downloaded from, and after it only those it was to reach in the first place.
import type { Sandbox as SdkSandbox } from 'e2b'
import { HandoffError } from '../../library/errors.js'
import type { SandboxRequest } from '../../library/tools.js'
import type { Created } from './create.js'
import { exitCodeOf } from './errors.js'
import { networkOf } from './options.js'
import { installDrive9, installNode, nodeHost } from './programs.js'
import { asOurs, replied, type Service } from './service.js'

const packageHosts = [
  'deb.debian.org',
  'security.debian.org',
  'archive.ubuntu.com',
  'security.ubuntu.com',
  'deb.nodesource.com',
]
const prepareMs = 240_000

export function isPlain({ settings }: Service): boolean {
  return settings.template.split(':')[0] === 'base'
}

/** The hosts that a plain machine is prepared from. */
export function preparationHosts(service: Service): string[] {
  return [...packageHosts, nodeHost, new URL(binaryOf(service).url).host]
}

function binaryOf({ settings }: Service): { url: string; sha256: string } {
  if (settings.binary) return settings.binary
  throw new HandoffError(
    'missing-setting',
    'A sandbox from the plain template base needs the drive9 program, and none is named.',
    {
      next: 'Set DRIVE9_BINARY_URL and DRIVE9_BINARY_SHA256, or build a template with `npm run template` and name it in E2B_TEMPLATE.',
    },
  )
}

/** Each step ends with a code of its own, so that we can say which one failed without repeating what it printed. */
const failures: Record<number, string> = {
  61: 'its packages could not be installed',
  62: 'the drive9 program could not be downloaded, or does not hash to DRIVE9_BINARY_SHA256',
  63: 'Node could not be downloaded and installed',
}

// The parts are programs of their own: a shell that is asked whether a part of it failed does not stop inside that part.
const script = `
set -u
missing=''
for pair in fusermount3:fuse3 git:git tar:tar curl:curl; do
  command -v "\${pair%%:*}" >/dev/null || missing="$missing \${pair##*:}"
done
if [ -n "$missing" ]; then
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates $missing; } >&2 || exit 61
fi
grep -qs '^user_allow_other' /etc/fuse.conf || echo user_allow_other | tee -a /etc/fuse.conf >/dev/null || exit 61
[ ! -e /dev/fuse ] || chmod 0666 /dev/fuse
bash <<'PART' >&2 || exit 62
${installDrive9}
PART
if ! node -e 'process.exit(Number.parseInt(process.versions.node) < 22 ? 1 : 0)' 2>/dev/null; then
  bash <<'PART' >&2 || exit 63
${installNode}
PART
fi
`

/** Resolves with the milliseconds it took. */
export async function prepare(
  service: Service,
  created: Created,
  request: SandboxRequest,
  signal: AbortSignal,
): Promise<number> {
  const { sandbox, options } = created
  const started = performance.now()
  const doing = `Preparing the plain sandbox ${sandbox.sandboxId}`
  const { url, sha256 } = binaryOf(service)
  await asOurs(signal, doing, async () => {
    const exitCode = await install(sandbox, { DRIVE9_BINARY_URL: url, DRIVE9_BINARY_SHA256: sha256 }, signal)
    if (exitCode !== 0) throw prepareError(doing, exitCode)
    if (options.egress) {
      const network = networkOf(request, options)
      await replied(service, signal, (connection) => sandbox.updateNetwork(network, connection))
    }
  })
  const milliseconds = Math.round(performance.now() - started)
  const seconds = (milliseconds / 1000).toFixed(1)
  service.notice(
    `Preparing the plain sandbox took ${seconds} s; a template built with \`npm run template\` needs none of it.`,
  )
  return milliseconds
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

function prepareError(doing: string, exitCode: number): HandoffError {
  const why = failures[exitCode] ?? `it ended with code ${exitCode}`
  return new HandoffError('sandbox', `${doing} failed: ${why}.`, {
    next: 'Build a template once with `npm run template` and name it in E2B_TEMPLATE: then nothing is installed at the start.',
  })
}
