// What could not be uploaded outlives its mount in the cache of the machine, and nowhere else: a new sandbox knows nothing of it.
//
// What was given up stays given up when the same cache is mounted again; what was only cut off is tried again.
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { look } from './directory-index.js'
import type { Mirror } from './mirror.js'
import type { Places } from './mount-files.js'
import type { Queue } from './upload-queue.js'

interface Kept {
  remoteRoot: string
  entries: { path: string; state: 'pending' | 'conflict'; revision: number; copy: string }[]
}

export async function keepFailed(places: Places, remoteRoot: string, mirror: Mirror): Promise<void> {
  await rm(places.failed, { recursive: true, force: true })
  const entries: Kept['entries'] = []
  for (const entry of mirror.index.values()) {
    if (entry.kind !== 'file' || (entry.state !== 'pending' && entry.state !== 'conflict')) continue
    const copy = String(entries.length)
    await mkdir(places.failed, { recursive: true, mode: 0o700 })
    await copyFile(join(places.mountpoint, entry.path), join(places.failed, copy)).catch(() => undefined)
    entries.push({ path: entry.path, state: entry.state, revision: entry.revision, copy })
  }
  if (entries.length === 0) return
  await writeFile(join(places.failed, 'list.json'), JSON.stringify({ remoteRoot, entries } satisfies Kept))
}

export async function restoreFailed(places: Places, remoteRoot: string, mirror: Mirror, queue: Queue): Promise<void> {
  const text = await readFile(join(places.failed, 'list.json'), 'utf8').catch(() => '')
  if (text === '') return
  const kept = JSON.parse(text) as Kept
  if (kept.remoteRoot !== remoteRoot) return
  for (const { path, state, revision, copy } of kept.entries) {
    const target = join(places.mountpoint, path)
    await mkdir(dirname(target), { recursive: true })
    await copyFile(join(places.failed, copy), target)
    const found = await look(places.mountpoint, path)
    if (!found) continue
    const entry = { ...found, state, revision }
    mirror.index.set(path, entry)
    if (state === 'pending') queue.add(entry)
  }
}
