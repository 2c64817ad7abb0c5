// The directories of both programs.
import { chmod, mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { untrustedAccount } from './spawn.js'

export const homeDirectory = homedir()
/** The directory of the untrusted work, on the local disk and open to its account. */
export const workDirectory = join(homeDirectory, 'work')

export const cloneDirectory = (repositoryName: string) => join(workDirectory, `${repositoryName}.git`)

/** Starts empty, also for a second task in the same sandbox. */
export async function prepareWorkDirectory(): Promise<void> {
  await rm(workDirectory, { recursive: true, force: true })
  await mkdir(workDirectory, { recursive: true })
  if (untrustedAccount(homeDirectory)) {
    // Another account must be able to reach the directory; it cannot read the files of the home directory.
    await chmod(homeDirectory, 0o711)
    // With the sticky bit, it cannot replace what it does not own.
    await chmod(workDirectory, 0o1777)
  }
}
