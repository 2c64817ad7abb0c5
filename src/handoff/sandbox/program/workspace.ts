// Where both programs work.
import { chmod, mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { untrustedAccount } from './spawn.js'

export const homeDirectory = homedir()
/** Where untrusted work happens: on the local disk, open to the account that does it. */
export const workDirectory = join(homeDirectory, 'work')

export const cloneDirectory = (repositoryName: string) => join(workDirectory, `${repositoryName}.git`)

/** A second walk in the same machine starts clean. */
export async function prepareWorkDirectory(): Promise<void> {
  await rm(workDirectory, { recursive: true, force: true })
  await mkdir(workDirectory, { recursive: true })
  if (untrustedAccount(homeDirectory)) {
    // The way there must be open to an account that is not ours; nothing in the home itself is readable by it.
    await chmod(homeDirectory, 0o711)
    await chmod(workDirectory, 0o777)
  }
}
