// The two questions to git: which files the commit has, and what its objects contain. There is no checkout.
import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from 'node:child_process'
import { ProgramError } from '../emit-record.js'
import { localGitEnvironment, spawnError, spawnOptions } from '../spawn.js'

/** Starts git on one repository, with all three streams as pipes. */
export type SpawnGit = (parameters: string[]) => ChildProcessWithoutNullStreams

export function gitAt(directory: string): SpawnGit {
  const options: SpawnOptions = { ...spawnOptions(directory, { environment: localGitEnvironment }), stdio: 'pipe' }
  return (parameters) =>
    spawn('git', ['--git-dir', directory, ...parameters], options) as ChildProcessWithoutNullStreams
}

/** A longer list is an attack: a few objects can name billions of files, and nested directories make every path longer than the last. */
const listLimits = { entries: 2_000_000, bytes: 1_000_000_000 }

/** Streams `git ls-tree` of the whole commit, with directories: `<mode> <type> <id> <size>\t<path>\0`. */
export async function listTree(git: SpawnGit, commit: string, onChunk: (chunk: Buffer) => void): Promise<void> {
  const child = git(['ls-tree', '-r', '-t', '-z', '-l', '--full-tree', commit])
  child.stdin.end()
  let size = 0
  let entries = 0
  const isTooLong = () => size > listLimits.bytes || entries > listLimits.entries
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length
    for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, end + 1)) entries += 1
    if (isTooLong()) child.kill()
    else onChunk(chunk)
  })
  const failure = await waitForExit(child)
  if (isTooLong())
    throw new ProgramError(
      'too-many-files',
      'the commit has more than 2,000,000 files and directories, or their names are longer than a gigabyte',
    )
  if (failure !== undefined) throw listError(commit, failure)
}

function listError(commit: string, failure: string): ProgramError {
  if (/not a tree object|not a valid object name|bad object/i.test(failure)) {
    return new ProgramError('no-such-commit', `the clone does not have the commit ${commit}`)
  }
  return new ProgramError('corrupt', `git could not list the files of ${commit}: ${failure}`)
}

/** Undefined on success, otherwise the end of stderr. */
function waitForExit(child: ChildProcessWithoutNullStreams): Promise<string | undefined> {
  let lastOutput = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    lastOutput = (lastOutput + text).slice(-1_000)
  })
  // A program that ended early closes its input; its exit code is what counts.
  child.stdin.on('error', () => {})
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => reject(spawnError('git', error)))
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : lastOutput.trim() || `it ended with ${code ?? signal}`),
    )
  })
}

/** Called once per name, in order; undefined if git does not have the object. The bytes are valid during the call only. */
type OnBlob = (index: number, bytes: Buffer | undefined) => void

export interface BlobReader {
  /** Names are object ids or `<commit>:<path>` without line ends. One call at a time; a reader for many accepts one call only. */
  read(names: readonly string[], onBlob: OnBlob): Promise<void>
  /** Kills the process. Idempotent. */
  stop(): void
}

/** Starts `git cat-file` at once, so that it is ready when the names are known. For many objects it writes in large blocks. */
export function openBlobReader(git: SpawnGit, amount: 'few' | 'many'): BlobReader {
  const child = git(['cat-file', '--batch', ...(amount === 'many' ? ['--buffer'] : [])])
  const end = waitForExit(child)
  // Only `read` waits for it.
  end.catch(() => {})
  let parser = createBlobParser(() => {})
  let answered = () => {}
  let failed = (_error: unknown) => {}
  child.stdout.on('data', (chunk: Buffer) => {
    try {
      parser.push(chunk)
      answered()
    } catch (error) {
      child.kill()
      failed(error)
    }
  })
  return {
    async read(names, onBlob) {
      if (names.length === 0) {
        // Closing the input lets the process end; otherwise it would keep this one alive.
        if (amount === 'many') child.stdin.end()
        return
      }
      parser = createBlobParser(onBlob)
      const all = new Promise<void>((resolve, reject) => {
        failed = reject
        answered = () => parser.count() === names.length && parser.atEnd() && resolve()
      })
      child.stdin.write(`${names.join('\n')}\n`)
      if (amount === 'many') child.stdin.end()
      const failure = await Promise.race([all, end.then((failure) => failure ?? 'some were left out')])
      if (failure !== undefined && parser.count() < names.length)
        throw new ProgramError('corrupt', `git could not read the files of the commit: ${failure}`)
    },
    stop: () => child.kill(),
  }
}

/**
 * Parses the output of `cat-file --batch`: `<id> <type> <size>\n<bytes>\n`, or `<name> missing\n`.
 */
interface BlobParser {
  push: (chunk: Buffer) => void
  /** How many objects were parsed. */
  count: () => number
  /** The line end after the last object was consumed. */
  atEnd: () => boolean
}

export function createBlobParser(onBlob: OnBlob): BlobParser {
  let count = 0
  let head = ''
  let skipLineEnd = false
  let room = Buffer.allocUnsafeSlow(0)
  let wanted = -1
  let filled = 0

  /** Collects an object that spans chunks. Returns the offset in the chunk where parsing continues. */
  const fill = (chunk: Buffer, from: number): number => {
    const part = Math.min(wanted - filled, chunk.length - from)
    chunk.copy(room, filled, from, from + part)
    filled += part
    if (filled === wanted) finish(room.subarray(0, wanted))
    return from + part
  }

  const finish = (bytes: Buffer | undefined) => {
    wanted = -1
    skipLineEnd = bytes !== undefined
    onBlob(count++, bytes)
  }

  const begin = (chunk: Buffer, from: number): number => {
    const size = objectSize(head)
    head = ''
    if (size < 0) finish(undefined)
    else if (chunk.length - from >= size) {
      finish(chunk.subarray(from, from + size))
      return from + size
    } else {
      wanted = size
      filled = 0
      if (room.length < size) room = Buffer.allocUnsafeSlow(Math.max(size, 1 << 20))
    }
    return from
  }

  const push = (chunk: Buffer) => {
    let at = 0
    while (at < chunk.length) {
      if (skipLineEnd) {
        skipLineEnd = false
        at++
      } else if (wanted >= 0) at = fill(chunk, at)
      else {
        const end = chunk.indexOf(10, at)
        head += chunk.toString('latin1', at, end < 0 ? chunk.length : end)
        at = end < 0 ? chunk.length : begin(chunk, end + 1)
      }
    }
  }
  return { push, count: () => count, atEnd: () => !skipLineEnd }
}

function objectSize(head: string): number {
  const size = /^[0-9a-f]+ [a-z]+ (\d+)$/.exec(head)?.[1]
  return size === undefined ? -1 : Number(size)
}
