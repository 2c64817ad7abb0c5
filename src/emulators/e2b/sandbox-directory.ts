// The directories of a sandbox: creates and removes them, and maps sandbox paths to paths of this machine.
//
// Not isolated: commands see this machine's file system, network and process table. A sandbox has its own home for `user`, home for `root`,
// temporary folder and environment. So commands should use $HOME and
// $TMPDIR instead of /home/user and /tmp. Commands gain no privilege: `root` is a home directory, not a user.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize, resolve } from 'node:path'

export type UserName = 'user' | 'root'

export interface Home {
  directory: string
  /** The home of a user, on this machine. */
  of: (user: UserName) => string
  temporary: string
  /** A path as the sandbox's user writes it (`~/x`, `x`, `/home/user/x`, or one that a command printed) on this machine. */
  locate: (path: string, user: UserName) => string | undefined
}

/** The directory under which a cloud keeps its sandboxes. Others may walk through it: a program in a sandbox may change its user. */
export function makeCloudDirectory(): string {
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find(walkable) ?? tmpdir()
  const directory = mkdtempSync(join(parent, 'handoff-sandboxes-'))
  chmodSync(directory, 0o711)
  return directory
}

function walkable(directory: string): boolean {
  const mode = statSync(directory, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & 0o001) !== 0 && (directory === dirname(directory) || walkable(dirname(directory)))
}

const homes: Record<UserName, string> = { user: '/home/user', root: '/root' }

export function makeHome(directory: string, searchPath: string): Home {
  for (const folder of ['', '/home', homes.user, homes.root]) makeDirectory(`${directory}${folder}`, 0o755)
  makeDirectory(`${directory}/tmp`, 0o1777)
  const of = (user: UserName) => `${directory}${homes[user]}`
  for (const user of ['user', 'root'] as const) writeFileSync(`${of(user)}/.bash_profile`, loginProfile(searchPath))
  return {
    directory,
    of,
    temporary: `${directory}/tmp`,
    locate: (path, user) => locate(path, directory, of(user)),
  }
}

/** The user's mask must not narrow it. */
function makeDirectory(path: string, mode: number): void {
  mkdirSync(path, { recursive: true })
  chmodSync(path, mode)
}

/**
 * The SDK runs `/bin/bash -l -c <command>`. A login shell reads /etc/profile first, which on Debian and its kin sets PATH anew and so forgets
 * what the environment said; then it reads this file of the home, which says it again.
 */
function loginProfile(searchPath: string): string {
  return `export PATH='${searchPath.replaceAll("'", `'\\''`)}'\n`
}

function locate(path: string, directory: string, home: string): string | undefined {
  if (path === '' || path === '~') return home
  if (path.startsWith('~/')) return resolve(home, path.slice(2))
  if (path.startsWith('~')) return undefined
  if (!path.startsWith('/')) return join(directory, normalize(join(home.slice(directory.length), path)))
  const whole = normalize(path)
  const inside = whole === directory || whole.startsWith(`${directory}/`)
  return withoutSlash(inside ? whole : join(directory, whole))
}

const withoutSlash = (path: string) => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path)

/**
 * Removes a directory and all below it, but never the content of a mount. Mounts are unmounted first. If one cannot be unmounted, the
 * directory stays, because removing it would delete the mounted files.
 */
export async function clearDirectory(directory: string): Promise<void> {
  for (const mount of mountsBelow(directory).reverse()) {
    spawnSync('fusermount3', ['-u', '-z', mount], { stdio: 'ignore' })
    spawnSync('umount', ['-l', mount], { stdio: 'ignore' })
  }
  const left = mountsBelow(directory)
  if (left.length > 0) throw new Error(`${left.join(', ')} could not be unmounted; ${directory} was left as it is.`)
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
}

function mountsBelow(directory: string): string[] {
  return mountTable()
    .split('\n')
    .map((line) => unescapeMount(line.split(' ')[4] ?? ''))
    .filter((path) => path === directory || path.startsWith(`${directory}/`))
}

function mountTable(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

/** The table writes a space as `\040`, and so on. */
const unescapeMount = (path: string) =>
  path.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
