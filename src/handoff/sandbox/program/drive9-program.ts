// Identifies the drive9 program of the sandbox for the run's record, and refuses one without `mount drain` before it stores anything.
import { access, constants } from 'node:fs/promises'
import { join } from 'node:path'
import { hashFile } from './drive9-mount.js'
import { emit, ProgramError } from './emit-record.js'
import { cleanEnvironment, runCommand } from './spawn.js'

const timeoutMs = 20_000

/** `mount drain` is the newest feature that is used here, so a program that has it has the others too. */
export async function identifyDrive9(home: string): Promise<void> {
  const ask = (...words: string[]) => runCommand('drive9', words, home, { timeoutMs })
  const [about, help, sha256] = await Promise.all([
    ask('--version'),
    ask('mount', 'drain', '--help'),
    hashProgram('drive9', home),
  ])
  const version = /^version:\s*(\S{1,100})/m.exec(about.stdout + about.stderr)?.[1] ?? 'unknown'
  emit({ type: 'drive9', version, sha256 })
  if (/drive9 mount drain/.test(help.stdout + help.stderr) && help.exitCode === 0) return
  throw new ProgramError(
    'drive9-too-old',
    `the drive9 program, version ${version} (sha256 ${sha256}), has no "mount drain"`,
  )
}

async function hashProgram(name: string, home: string): Promise<string> {
  for (const folder of cleanEnvironment(home)['PATH']?.split(':') ?? []) {
    const path = join(folder, name)
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return (await hashFile(path)).sha256
  }
  throw new ProgramError('tool-missing', `The sandbox has no program called ${name}.`)
}
