// E2B's own template `base`: a machine with neither Node nor drive9, and what its tools do when those are installed.
//
// A sandbox here is not isolated, so whatever would change this machine is played: packages, archives and files under /usr/local and /etc land
// in the sandbox's own directory. Its network is this machine's loopback and the archive of Node, of which only the published hash is known.
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const absent = new Set(['node', 'nodejs', 'npm', 'npx', 'corepack', 'drive9'])
const played = ['apt-get', 'chmod', 'curl', 'install', 'sha256sum', 'tar', 'tee']
const cache = fileURLToPath(new URL('../../../node_modules/.cache/base-tools', import.meta.url))
const tool = fileURLToPath(new URL('base-template-tool.mjs', import.meta.url))

/** The PATH of a sandbox of `base`: what was installed in it, the tools that are played, and this machine's others. */
export function baseSearchPath(sandboxDirectory: string, systemPath: string[]): string {
  return `${sandboxDirectory}/usr/local/bin:${toolDirectory(systemPath)}`
}

/** A thousand links take half a second, so they are kept until a folder of the system changes. */
function toolDirectory(systemPath: string[]): string {
  const changes = systemPath.map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs)
  const parts = JSON.stringify([process.execPath, tool, systemPath, changes])
  const directory = join(cache, createHash('sha256').update(parts).digest('hex').slice(0, 16))
  if (existsSync(directory)) return directory
  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(join(cache, 'unfinished-'))
  chmodSync(unfinished, 0o755)
  fill(unfinished, systemPath)
  try {
    renameSync(unfinished, directory)
  } catch (error) {
    // Another process was faster.
    rmSync(unfinished, { recursive: true })
    if (!existsSync(directory)) throw error
  }
  return directory
}

function fill(toolDirectory: string, systemPath: string[]): void {
  for (const name of played) {
    const text = `#!/bin/sh\nexec '${process.execPath}' '${tool}' ${name} "$@"\n`
    writeFileSync(`${toolDirectory}/${name}`, text, { mode: 0o755 })
  }
  const taken = new Set([...absent, ...played])
  for (const folder of systemPath) {
    for (const name of namesIn(folder)) {
      if (taken.has(name)) continue
      taken.add(name)
      symlinkSync(`${folder}/${name}`, `${toolDirectory}/${name}`)
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
