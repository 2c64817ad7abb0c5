// What a sandbox needs beside its operating system, as steps of a recipe. A template's build carries out each step by itself; a sandbox of
// E2B's own `base` is prepared by all of them in one command.
import { createHash } from 'node:crypto'
import type { ProgramSource } from '../../domain/settings.js'

/** The one the tests run with; new enough for everything that runs inside. */
export const nodeVersion = '24.21.0'
/** Of node-v24.21.0-linux-x64.tar.gz, as published for that release. It stands here so that the download cannot vouch for itself. */
export const nodeSha256 = '6e1db87ef58b8819e5d5402eff1536491b18edd8eb7bee5ef7897876e88dc5ff'
export const nodeHost = 'nodejs.org'

interface RecipeStep {
  /** Its first line says what it does, because a build's log shows that. */
  script: string
  /** What the prepared sandbox's command ends with when this step fails. */
  exitCode: number
  failure: string
}

const installPackages = `# Install fuse3, git, tar and curl where they are missing.
set -eu
missing=''
for pair in fusermount3:fuse3 git:git tar:tar curl:curl; do
  command -v "\${pair%%:*}" >/dev/null || missing="$missing \${pair##*:}"
done
if [ -n "$missing" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends ca-certificates $missing
fi`

/** Without the second line a mount of one user is closed to all others, root and the service's own file API among them. */
const openFuse = `# Open FUSE to all users of the machine.
set -eu
[ ! -e /dev/fuse ] || chmod 0666 /dev/fuse
grep -qs '^user_allow_other' /etc/fuse.conf || echo user_allow_other | tee -a /etc/fuse.conf >/dev/null`

/** Assumes a 64-bit Intel machine, as E2B's are. */
const installNode = `# Install Node ${nodeVersion}.
set -eu
if ! node -e 'process.exit(Number.parseInt(process.versions.node) < 22 ? 1 : 0)' 2>/dev/null; then
  file="$(mktemp)"
  trap 'rm -f "$file"' EXIT
  curl -fsSL --retry 3 -o "$file" https://${nodeHost}/dist/v${nodeVersion}/node-v${nodeVersion}-linux-x64.tar.gz
  echo "${nodeSha256}  $file" | sha256sum -c -
  tar -xzf "$file" -C /usr/local --strip-components=1 --no-same-owner
fi`

/** Takes the address and the hash from the environment. */
const installDrive9 = `# Install the drive9 program.
set -eu
there="$(command -v drive9 || echo /usr/local/bin/drive9)"
if ! echo "$DRIVE9_BINARY_SHA256  $there" | sha256sum -c --status - 2>/dev/null; then
  file="$(mktemp)"
  trap 'rm -f "$file"' EXIT
  curl -fsSL --retry 3 -o "$file" "$DRIVE9_BINARY_URL"
  echo "$DRIVE9_BINARY_SHA256  $file" | sha256sum -c -
  install -m 0755 "$file" /usr/local/bin/drive9
fi`

/** In the order of how seldom they change: E2B keeps the result of a build's step for later builds. */
export const recipe: RecipeStep[] = [
  { script: installPackages, exitCode: 61, failure: 'its packages could not be installed' },
  { script: openFuse, exitCode: 64, failure: 'FUSE could not be opened to all users' },
  {
    script: installNode,
    exitCode: 63,
    failure: 'Node could not be downloaded, or its archive has another hash than ours',
  },
  {
    script: installDrive9,
    exitCode: 62,
    failure: 'the drive9 program could not be downloaded',
  },
]

export const templateImage = '22.04'
export const templateSize = { cpuCount: 2, memoryMB: 2_048 }

/**
 * The name of our template. It carries a hash of the recipe, so that a release with another recipe builds another template. Of the drive9
 * program it knows the address and the pinned hash; without a pin, the version is the one that was published when the template was built.
 */
export function templateName(binary: ProgramSource): string {
  const scripts = recipe.map(({ script }) => script)
  const text = JSON.stringify([templateImage, templateSize, scripts, binary.url, binary.sha256 ?? ''])
  return `handoff-${createHash('sha256').update(text).digest('hex').slice(0, 12)}`
}
