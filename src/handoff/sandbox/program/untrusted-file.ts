// Opens a file that the untrusted account wrote. This process may read more than that account, so a link in the place of the file would publish what the
// account cannot read.
import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import { ProgramError } from './emit-record.js'
import { untrustedUserId } from './spawn.js'

/** `top` is a directory that only this process can replace. */
export async function openUntrusted(path: string, top: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === 'ELOOP' ? notPlain(path, top) : error
    },
  )
  try {
    const [stat, opened, real] = await Promise.all([
      handle.stat(),
      readlink(`/proc/self/fd/${handle.fd}`),
      realpath(top),
    ])
    // The name of what was opened tells of a link in any folder of the path.
    const isInPlace = opened === `${real}/${relative(top, path)}`
    if (!stat.isFile() || stat.nlink !== 1 || !isInPlace || !isOwner(stat.uid)) throw notPlain(path, top)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

const isOwner = (uid: number) => uid === untrustedUserId || uid === process.getuid?.()

function notPlain(path: string, top: string): ProgramError {
  return new ProgramError(
    'internal',
    `${relative(top, path)} is not a plain file of the account that reads the repository`,
  )
}
