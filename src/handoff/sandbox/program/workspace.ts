// Where both programs work.
import { chmod, mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { untrustedAccount } from './spawn.js'

export const home = homedir()
/** Where untrusted work happens: on the local disk, open to the account that does it. */
export const work = join(home, 'work')

export const cloneDirectory = (repositoryName: string) => join(work, `${repositoryName}.git`)

/** A second walk in the same machine starts clean. */
export async function openWork(): Promise<void> {
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { recursive: true })
  if (untrustedAccount(home)) {
    // The way there must be open to an account that is not ours; nothing in the home itself is readable by it.
    await chmod(home, 0o711)
    await chmod(work, 0o777)
  }
}
