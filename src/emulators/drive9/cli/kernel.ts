// The kernel's part in a mount, for Node programs. It is loaded with `--import` by programs of a local sandbox (see `kernelOptions`).
//
// A plain directory does every file operation by itself. The real kernel passes it to the process behind the mount, and returns that process's
// error number. So this asks that process before a directory or a link is made, and when a file is synced. A file's creation, its content and its
// new name stay with the real program until it uploads them, so they do not fail here either.
import { existsSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { constants } from 'node:os'
import { dirname, relative, resolve } from 'node:path'
import type { ControlRequest } from './control-server.js'
import { ask } from './mount-control.js'
import { type MountState, placesOf, readState } from './mount-files.js'

const { mkdir, symlink, open } = files

/** The mount that a path is in. */
function mountOf(path: string): MountState | undefined {
  const above = dirname(path)
  return readState(placesOf(path, process.env)) ?? (above === path ? undefined : mountOf(above))
}

async function pass(op: 'mkdir' | 'symlink' | 'fsync', path: string, target?: string): Promise<void> {
  const mount = mountOf(dirname(path))
  if (mount === undefined) return
  const request: ControlRequest = { op, path: relative(mount.mount_point, path), ...(target ? { target } : {}) }
  const { error } = (await ask(mount, request, 60_000)) as { error?: keyof typeof constants.errno }
  if (error === undefined) return
  const problem = new Error(`${error}: refused by the server, ${op} '${path}'`)
  throw Object.assign(problem, { code: error, errno: -constants.errno[error], syscall: op, path })
}

/** Another call may have made it meanwhile. */
function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** The directories that a recursive `mkdir` makes, the outermost first. */
function missing(path: string): string[] {
  return existsSync(path) ? [] : [...missing(dirname(path)), path]
}

Object.assign(files, {
  async mkdir(path: string, options?: { recursive?: boolean }) {
    const whole = resolve(path)
    if (!options?.recursive) await pass('mkdir', whole)
    else for (const one of missing(whole)) await pass('mkdir', one).catch(unlessThere)
    return mkdir(path, options)
  },
  async symlink(target: string, path: string) {
    await pass('symlink', resolve(path), target)
    return symlink(target, path)
  },
  async open(...words: Parameters<typeof open>) {
    const handle = await open(...words)
    const sync = handle.sync.bind(handle)
    const synced = async () => {
      await sync()
      await pass('fsync', resolve(String(words[0])))
    }
    return Object.assign(handle, { sync: synced })
  },
})
syncBuiltinESMExports()
