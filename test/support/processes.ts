// Processes of this machine that have to do with a folder: in their arguments, their environment or as where they stand.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export function processesAbout(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((id) => {
      const command = read(`/proc/${id}/cmdline`)
      const about = [command, read(`/proc/${id}/environ`), link(`/proc/${id}/cwd`)].some((text) =>
        text.includes(folder),
      )
      return about ? [`${id} ${command.replaceAll('\0', ' ').slice(0, 200)}`] : []
    })
}

/** A process that ends while it is being looked at has nothing to say. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
