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
    const real = await realpath(top)
    // The names are counted before the path is asked for. A second name that is removed before the count is 'deleted' in the path.
    const stat = await handle.stat()
    // The path of what was opened tells of a link in any folder of it.
    const opened = await readlink(`/proc/self/fd/${handle.fd}`)
    const isInPlace = opened === `${real}/${relative(top, path)}` && !looksDeleted(path)
    if (!stat.isFile() || stat.nlink !== 1 || !isInPlace || !isOwner(stat.uid)) throw notPlain(path, top)
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The kernel adds this to the path of a deleted file, so a file with such a name looks like one. */
export const looksDeleted = (path: string) => path.endsWith(' (deleted)')

const isOwner = (uid: number) => uid === untrustedUserId || uid === process.getuid?.()

function notPlain(path: string, top: string): ProgramError {
  return new ProgramError(
    'internal',
    `${relative(top, path)} is not a plain file of the account that reads the repository`,
  )
}
