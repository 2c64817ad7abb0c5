// Keeps a plain directory in step with a directory on the server: downloads it once, then carries over what is done to it.
//
// What a plain directory cannot show, and what happens instead: see the list at the top of program.ts.
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { each, type Remote, type RemoteEntry, RemoteError } from './api-client.js'
import { compare, type Difference, type Found, type Index, type Known, look, scan } from './directory-index.js'
import type { Queue } from './upload-queue.js'
import { quietTime } from './watch-folders.js'

interface MirrorOptions {
  directory: string
  remoteRoot: string
  remote: Remote
  readOnly: boolean
  isLocal: (path: string) => boolean
  log: (text: string) => void
  /** Asks to be called again in a moment: something is still being written. */
  later: () => void
}

export interface Mirror {
  index: Index
  /** Brings everything here. `top` is what the remote directory holds, where that is known already. */
  populate(top: RemoteEntry[]): Promise<void>
  /** Finds what was done to the directory and hands it on: everything, or only what has not just been written. Calls share the work. */
  reconcile(everything: boolean): Promise<void>
  /** When the server no longer takes our key, every file answers with an error from now on. True when it is so. */
  breakAll(): Promise<boolean>
  /** What the server does not have as it is here, and never will unless it is written again. */
  conflicts(): Known[]
  /** How much was written that no try to upload was made for, because the mount is broken. */
  unnoticed(): number
}

const symlinkKind = 0o120000

export function makeMirror(options: MirrorOptions, queue: () => Queue): Mirror {
  const { directory, remote, isLocal, log } = options
  const index: Index = new Map()
  const root = options.remoteRoot.replace(/\/$/, '')
  /** What was removed here and is still on the server, because the server refused. */
  const notRemoved: Known[] = []
  let broken = false
  let lost = 0
  let atWork: Promise<void> | undefined
  let next: { everything: boolean; done: Promise<void> } | undefined

  // ── from the server to here ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Files of a directory come while the directories in it are listed. */
  async function populate(top: RemoteEntry[], prefix = ''): Promise<void> {
    const here = top
      .map((entry) => ({ entry, path: prefix === '' ? entry.name : `${prefix}/${entry.name}` }))
      .filter(({ entry, path }) => isPlainName(entry.name) && !isLocal(path))
    const files = here.filter(({ entry }) => !entry.isDir)
    const folders = here.filter(({ entry }) => entry.isDir)
    await Promise.all([
      each(files, 24, fetchFile),
      ...folders.map(async ({ path }) => {
        await mkdir(join(directory, path), { recursive: true })
        await remember(path, 0)
        await populate(await remote.list(`${root}/${path}`), path)
      }),
    ])
  }

  async function fetchFile({ path, entry }: { path: string; entry: RemoteEntry }): Promise<void> {
    const local = join(directory, path)
    const mode = entry.hasMode ? (entry.mode ?? 0o644) : 0o644
    if ((mode & 0o170000) === symlinkKind) await symlink((await remote.read(`${root}/${path}`)).toString('utf8'), local)
    else {
      await download(`${root}/${path}`, entry.size, local)
      await settleMode(local, mode)
    }
    await remember(path, entry.revision ?? 1)
  }

  async function download(from: string, size: number, local: string): Promise<void> {
    if (size === 0) await writeFile(local, '')
    else await remote.download(from, local)
  }

  async function settleMode(local: string, mode: number): Promise<void> {
    await chmod(local, mode & 0o777 & (options.readOnly ? 0o555 : 0o777))
  }

  async function remember(path: string, revision: number): Promise<void> {
    const found = await look(directory, path)
    if (found) index.set(path, { ...found, state: 'remote', revision })
  }

  // ── from here to the server ──────────────────────────────────────────────────────────────────────────────────────────────

  function reconcile(everything: boolean): Promise<void> {
    if (!atWork) {
      atWork = pass(everything).finally(() => {
        atWork = undefined
      })
      return atWork
    }
    const before = atWork.catch(() => undefined)
    next ??= {
      everything,
      done: before.then(() => {
        const wanted = next?.everything ?? true
        next = undefined
        return reconcile(wanted)
      }),
    }
    next.everything ||= everything
    return next.done
  }

  async function pass(everything: boolean): Promise<void> {
    if (options.readOnly) return sweepReadOnly()
    for (let difference = await differences(); ; difference = await differences()) {
      if (broken) {
        lost = difference.added.length + difference.changed.length
        return
      }
      const folder = difference.renamed.find(({ from }) => from.kind === 'directory')
      if (!folder) return carryOver(everything ? difference : withoutUnfinished(difference))
      await renameFolder(folder.from, folder.to)
    }
  }

  /** What was written a moment ago may be half of something; it is looked at again in a moment. */
  function withoutUnfinished(difference: Difference): Difference {
    const now = Date.now()
    const finished = (found: Found) => found.kind !== 'file' || now - Number(found.modified / 1_000_000n) >= quietTime
    const added = difference.added.filter(finished)
    const changed = difference.changed.filter(({ found }) => finished(found))
    if (added.length < difference.added.length || changed.length < difference.changed.length) options.later()
    return { ...difference, added, changed }
  }

  const differences = async () => compare(index, await scan(directory))

  /** On a read-only mount nothing new stays, and nothing goes to the server. */
  async function sweepReadOnly(): Promise<void> {
    const { added } = await differences()
    for (const { path } of added) await rm(join(directory, path), { recursive: true, force: true })
  }

  async function carryOver({ renamed, removed, added, changed, modes }: Difference): Promise<void> {
    for (const { from, to } of renamed) await renameFile(from, to)
    await removeAll(removed)
    for (const { known, found } of changed) enqueue(Object.assign(known, found))
    await Promise.all(added.map(addOne))
    await Promise.all(modes.map(({ known, found }) => changeMode(known, found)))
  }

  function enqueue(entry: Known): void {
    if (entry.state === 'local') return
    queue().add(entry)
  }

  async function addOne(found: Found): Promise<void> {
    const entry: Known = { ...found, state: isLocal(found.path) ? 'local' : 'remote', revision: 0 }
    index.set(found.path, entry)
    if (entry.kind !== 'directory') return enqueue(entry)
    if (entry.state !== 'local') await tell(entry, 'mkdir', () => remote.makeDirectory(`${root}/${entry.path}`), [409])
  }

  /** Carries out what the real program does at once and would have answered with an error. Here the error shows in the next drain. */
  async function tell(entry: Known, what: string, work: () => Promise<void>, fine: number[]): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error
      if (fine.includes(error.status)) return true
      log(`${what} /${entry.path}: ${error.message}`)
      entry.state = 'conflict'
      if (error.status === 401) await breakAll()
      return false
    }
  }

  async function renameFile(from: Known, to: Found): Promise<void> {
    await queue().settle(from)
    const replaced = index.get(to.path)
    if (replaced && replaced !== from) {
      replaced.gone = true
      await queue().settle(replaced)
    }
    const old = from.path
    index.delete(old)
    const wasLocal = from.state === 'local'
    Object.assign(from, { path: to.path, mode: to.mode })
    index.set(to.path, from)
    if (isLocal(to.path) || wasLocal) return changeSides(from, old, wasLocal)
    if (from.revision > 0) {
      const moved = await tell(from, 'rename', () => remote.rename(`${root}/${old}`, `${root}/${to.path}`), [])
      if (moved && from.state === 'pending') enqueue(from)
      return
    }
    from.revision = replaced?.revision ?? 0
    if (from.state === 'pending') enqueue(from)
  }

  /** Over the border between what is kept here and what is sent the real program refuses to rename; then `mv` copies and removes. */
  async function changeSides(entry: Known, oldPath: string, wasLocal: boolean): Promise<void> {
    const staysHere = isLocal(entry.path)
    if (!wasLocal && entry.revision > 0)
      await tell(entry, 'remove', () => remote.remove(`${root}/${oldPath}`, false), [404])
    Object.assign(entry, { revision: 0, state: staysHere ? 'local' : 'remote' })
    enqueue(entry)
  }

  async function renameFolder(from: Known, to: Found): Promise<void> {
    const inside = [...index.values()].filter((entry) => entry === from || entry.path.startsWith(`${from.path}/`))
    for (const entry of inside) await queue().settle(entry)
    const old = from.path
    for (const entry of inside) {
      index.delete(entry.path)
      entry.path = `${to.path}${entry.path.slice(old.length)}`
      index.set(entry.path, entry)
    }
    await tell(from, 'rename', () => remote.rename(`${root}/${old}`, `${root}/${to.path}`), [])
    for (const entry of inside) if (entry.state === 'pending') enqueue(entry)
  }

  /** One request for each thing that is gone and whose directory is still there. */
  async function removeAll(removed: Known[]): Promise<void> {
    const gone = new Set(removed.map((entry) => entry.path))
    for (const entry of removed) {
      entry.gone = true
      index.delete(entry.path)
      await queue().settle(entry)
    }
    const tops = removed.filter((entry) => entry.state !== 'local' && !gone.has(dirname(entry.path)))
    await each(tops, 16, async (entry) => {
      if (entry.kind !== 'directory' && entry.revision === 0) return
      const path = `${root}/${entry.path}`
      const done = await tell(entry, 'remove', () => remote.remove(path, entry.kind === 'directory'), [404])
      if (!done) notRemoved.push(entry)
    })
  }

  /** With a token `chmod` is refused: the new mode stays here and the next mount shows the old one. */
  async function changeMode(known: Known, found: Found): Promise<void> {
    known.mode = found.mode
    if (known.state !== 'remote' || known.revision === 0) return
    await remote.changeMode(`${root}/${known.path}`, found.mode).catch((error: Error) => log(`chmod: ${error.message}`))
  }

  /**
   * Reading through a link to a process's own memory at its first byte is an input/output error on Linux, for root too; nothing can be created
   * through a link to the list of processes. What waits to be uploaded stays, with its folder: it will be given up.
   */
  async function breakAll(): Promise<boolean> {
    if (broken) return true
    if (!(await keyIsRefused())) return false
    broken = true
    log('fuse: lookup failed for /: invalid API key; input/output errors from now on')
    for (const entry of index.values()) {
      if (entry.kind !== 'file' || entry.state !== 'remote') continue
      const local = join(directory, entry.path)
      await rm(local, { force: true })
      await symlink('/proc/self/mem', local)
      Object.assign(entry, await look(directory, entry.path))
    }
    await breakFolders()
    return true
  }

  async function breakFolders(): Promise<void> {
    const kept = [...index.values()].filter(({ state }) => state !== 'remote').map(({ path }) => `${path}/`)
    for (const folder of [...index.values()]) {
      if (folder.kind !== 'directory' || folder.path.includes('/')) continue
      if (kept.some((path) => path.startsWith(`${folder.path}/`))) continue
      for (const path of [...index.keys()]) if (path.startsWith(`${folder.path}/`)) index.delete(path)
      const local = join(directory, folder.path)
      await rm(local, { recursive: true, force: true })
      await symlink('/proc', local)
      Object.assign(folder, await look(directory, folder.path))
    }
  }

  /** A single 401 may be temporary. The mount is broken only if the status request also gets 401. */
  async function keyIsRefused(): Promise<boolean> {
    try {
      await remote.status()
      return false
    } catch (error) {
      return error instanceof RemoteError && error.status === 401
    }
  }

  const conflicts = () => [...index.values(), ...notRemoved].filter((entry) => entry.state === 'conflict')

  return { index, populate, reconcile, breakAll, conflicts, unnoticed: () => lost }
}

const isPlainName = (name: string) => name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
