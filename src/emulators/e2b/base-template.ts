// E2B's own template `base`: a machine with neither Node nor drive9, and what its tools do when those are installed.
//
// A sandbox here is not isolated, so whatever would change this machine is played: packages, archives and files under /usr/local and /etc land
// in the sandbox's own directory. Its network is this machine's loopback and the archive of Node, of which only the published hash is known.
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const absent = new Set(['node', 'nodejs', 'npm', 'npx', 'corepack', 'drive9'])
const played = ['apt-get', 'chmod', 'curl', 'install', 'sha256sum', 'tar', 'tee']
const tool = fileURLToPath(new URL('base-template-tool.mjs', import.meta.url))

/** The PATH of a sandbox of `base`: what was installed in it, the tools that are played, and this machine's others. */
export function baseSearchPath(cloudDirectory: string, sandboxDirectory: string, systemPath: string[]): string {
  const toolDirectory = `${cloudDirectory}/base-tools`
  try {
    mkdirSync(toolDirectory)
    fill(toolDirectory, systemPath)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return `${sandboxDirectory}/usr/local/bin:${toolDirectory}`
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
