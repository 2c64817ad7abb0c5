// Keeps something running that is begun again whenever a file changes which it was made of, and says so.
//
// Each folder is watched by itself. Node's watching of whole trees follows files on Linux, and hears nothing more of one that an editor has put
// another in place of, which is how most of them save.
import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs'
import { join, relative, sep } from 'node:path'

export interface Reloading<T> extends AsyncDisposable {
  running(): T
}

interface ReloadOptions<T> {
  root: string
  /** Folders and files below the root. */
  sources: string[]
  /** Files that every request reads: after a change they are built, and nothing is started again. */
  page: { folder: string; build: () => Promise<void> }
  begin: () => Promise<T>
  say: (text: string) => void
}

export async function reload<T extends { close(): Promise<void> }>(options: ReloadOptions<T>): Promise<Reloading<T>> {
  const { root, sources, page, begin, say } = options
  let running = await begin()
  const isBelow = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)
  const watched = [...sources, page.folder]
  const settled = gathered(async (paths) => {
    // What an editor only put down for a moment is gone by now, and not worth a word.
    const still = paths.filter((path) => existsSync(join(root, path)))
    const changed = still.length === 0 ? paths : still
    const ofPage = changed.filter((path) => isBelow(path, page.folder))
    const code = changed.filter((path) => !isBelow(path, page.folder))
    const attempt = async (paths: string[], work: () => Promise<string>) => {
      if (paths.length === 0) return
      const outcome = await work().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      say(`${paths.join(', ')} changed: ${outcome}`)
    }
    await attempt(ofPage, async () => {
      await page.build()
      return 'reload the page'
    })
    await attempt(code, async () => {
      await running.close()
      running = await begin()
      return 'begun again'
    })
  })
  const stop = watchBelow(
    root,
    (path) => {
      const name = relative(root, path).split(sep).join('/')
      const isOpenFile = /(^|\/)\.[^/]*$|~$/.test(name)
      if (!isOpenFile && watched.some((source) => isBelow(name, source))) settled.add(name)
    },
    watched,
  )
  return {
    running: () => running,
    async [Symbol.asyncDispose]() {
      stop()
      await settled.end()
      await running.close()
    },
  }
}

/** Several changes at once are one, and one is dealt with after the other. */
function gathered(deal: (paths: string[]) => Promise<void>) {
  const paths = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let last = Promise.resolve()
  return {
    add(path: string) {
      paths.add(path)
      clearTimeout(timer)
      timer = setTimeout(() => {
        const those = [...paths].sort()
        paths.clear()
        last = last.then(() => deal(those))
      }, 100)
    },
    async end() {
      clearTimeout(timer)
      await last
    },
  }
}

/** The root itself, and the sources' folders with all that are in them; one that is made later is watched from then on. */
function watchBelow(root: string, changed: (path: string) => void, sources: string[]): () => void {
  const watchers = new Map<string, FSWatcher>()
  const look = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const isSource = folder !== root || sources.some((source) => source.split('/')[0] === entry.name)
      if (entry.isDirectory() && isSource) follow(join(folder, entry.name))
    }
  }
  const forget = (folder: string) => {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(folder + sep)) continue
      watcher.close()
      watchers.delete(path)
    }
  }
  const follow = (folder: string) => {
    if (watchers.has(folder)) return
    const attempt = (work: () => void) => {
      try {
        work()
      } catch {
        forget(folder)
      }
    }
    attempt(() => {
      const watcher = watch(folder, (event, name) => {
        if (name === null) return
        changed(join(folder, name))
        // A folder that goes, comes, or is another one by now.
        if (event === 'rename') forget(join(folder, name))
        attempt(() => look(folder))
      })
      watchers.set(
        folder,
        watcher.on('error', () => forget(folder)),
      )
      look(folder)
    })
  }
  follow(root)
  return () => {
    for (const watcher of watchers.values()) watcher.close()
  }
}
