// Notices that something happens below a directory. What it was, a look at the whole directory tells; this only says when to look.
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'

/** Nothing is uploaded while a file may still be written: this many milliseconds nothing may have happened. A drain does not wait for it. */
export const quietTime = 60

/** Says, after a quiet moment, that something below a directory changed. New folders are watched as they come. */
export function watchFolders(directory: string, changed: () => void): { poke(): void; close(): void } {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function poke(): void {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(changed, quietTime)
  }

  function add(folder: string): void {
    if (watchers.has(folder) || closed) return
    try {
      const watcher = watch(folder, (_, name) => {
        if (name) addIfFolder(join(folder, name))
        poke()
      })
      watcher.on('error', () => drop(folder))
      watchers.set(folder, watcher)
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (entry.isDirectory()) add(join(folder, entry.name))
      }
    } catch {
      // Gone again already; the next look at the whole directory tells.
    }
  }

  function addIfFolder(path: string): void {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isDirectory()) add(path)
    else if (!stat) drop(path)
  }

  function drop(path: string): void {
    watchers.get(path)?.close()
    watchers.delete(path)
  }

  add(directory)
  return {
    poke,
    close() {
      closed = true
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    },
  }
}
