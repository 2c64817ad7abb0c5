// A file of settings, `NAME=value` a line, as `.env` is one: read, and written so that only its owner can read it and no other line changes.
import { chmodSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'

export function readEnvFile(file: string): Record<string, string> {
  if (!existsSync(file)) return {}
  const entries = Object.entries(parseEnv(readFileSync(file, 'utf8')))
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

const isClosed = (file: string) => (statSync(file).mode & 0o077) === 0

/** Returns the names whose lines are new or changed. Values are written as they are, so they hold no spaces, quotes or `#`. */
export function writeEnvFile(file: string, values: Record<string, string>): string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').replace(/\n$/, '').split('\n') : []
  const changed: string[] = []
  for (const [name, value] of Object.entries(values)) {
    const line = `${name}=${value}`
    // The last line of a name is the one that counts.
    const place = lines.findLastIndex((one) => new RegExp(`^\\s*(export\\s+)?${name}\\s*=`).test(one))
    if (lines[place] === line) continue
    changed.push(name)
    if (place >= 0) lines[place] = line
    else lines.push(line)
  }
  if (changed.length > 0) {
    const whole = `${file}.${process.pid}.new`
    writeFileSync(whole, `${lines.join('\n')}\n`, { mode: 0o600 })
    renameSync(whole, file)
  } else if (existsSync(file) && !isClosed(file)) chmodSync(file, 0o600)
  return changed
}
