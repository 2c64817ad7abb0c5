// The commit on the local disk: a bare clone of depth one, by the exact id, and its tar.
//
// Only the git process that fetches has the credential, in its environment. No remote is configured, so git stores no address.
import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { SummariseTask } from '../../domain/sandbox-protocol.js'
import { ProgramError } from './emit-record.js'
import { type Account, lastLine, localGitEnvironment, runCommand } from './spawn.js'

/** No system or personal configuration, no prompt, no transport but HTTP, no LFS filter. */
const gitEnvironment = { ...localGitEnvironment, GIT_ALLOW_PROTOCOL: 'http:https', GIT_LFS_SKIP_SMUDGE: '1' }

const gitOptions = [
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'fetch.recurseSubmodules=false',
  '-c',
  'gc.auto=0',
  '-c',
  'maintenance.auto=false',
  '-c',
  'credential.helper=',
  // The credential is for one host. A redirect could lead to another one.
  '-c',
  'http.followRedirects=false',
]

export interface Clone {
  /** The bare repository. */
  directory: string
  /** Its tar, ready to be stored. */
  tar: string
}

export async function clone(
  task: SummariseTask,
  work: string,
  credential: string,
  account: Account | undefined,
): Promise<Clone> {
  const name = `${task.repositoryName}.git`
  const directory = join(work, name)
  const git = (args: string[], secret: Record<string, string> = {}) =>
    runCommand('git', [...gitOptions, ...args], work, {
      environment: { ...gitEnvironment, ...secret },
      ...(account ? { account } : {}),
    })

  await mkdir(work, { recursive: true })
  await requireSuccess(
    git(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', directory]),
    'git could not start a repository',
  )
  await fetchCommit(task, directory, git, credential)
  const branch = branchName(task.clone.ref)
  await requireSuccess(git(['-C', directory, 'update-ref', branch, task.clone.sha]), 'git could not name the commit')
  await requireSuccess(git(['-C', directory, 'symbolic-ref', 'HEAD', branch]), 'git could not name the branch')
  return { directory, tar: await pack(work, task.repositoryName, account) }
}

/** Adds another commit, one deep, for comparison; the tar is not changed. False when the host does not give it. */
export async function fetchBase(
  { directory }: Clone,
  url: string,
  base: string,
  work: string,
  credential: string,
  account: Account | undefined,
): Promise<boolean> {
  const words = ['-C', directory, 'fetch', '--quiet', '--depth=1', '--no-tags', '--no-write-fetch-head', url]
  const environment = { ...gitEnvironment, ...authorizationHeader(url, credential) }
  const options = { environment, ...(account ? { account } : {}) }
  const fetched = await runCommand('git', [...gitOptions, ...words, `${base}:refs/handoff/base`], work, options)
  return fetched.exitCode === 0
}

/** Fetches by id. A host that serves only refs gets the ref, and the result must still be the commit. */
async function fetchCommit(
  task: SummariseTask,
  directory: string,
  git: (args: string[], secret?: Record<string, string>) => ReturnType<typeof runCommand>,
  credential: string,
): Promise<void> {
  const { url, sha, ref } = task.clone
  const fetch = (what: string) =>
    git(
      ['-C', directory, 'fetch', '--quiet', '--depth=1', '--no-tags', '--no-write-fetch-head', url, what],
      authorizationHeader(url, credential),
    )

  const byId = await fetch(`${sha}:refs/handoff/commit`)
  if (byId.exitCode !== 0 && ref !== undefined && /unadvertised|not our ref|not allow/i.test(byId.stderr))
    await fetch(`+${ref}:refs/handoff/commit`)
  else if (byId.exitCode !== 0) throw fetchError(byId.stderr)

  const found = await git(['-C', directory, 'rev-parse', '--verify', '--quiet', `${sha}^{commit}`])
  if (found.stdout.trim() !== sha) throw new ProgramError('no-such-commit', `the git host does not have commit ${sha}`)
  await git(['-C', directory, 'update-ref', '-d', 'refs/handoff/commit'])
}

/** A header for one origin, in the environment of one process. */
function authorizationHeader(url: string, credential: string): Record<string, string> {
  if (credential === '') return {}
  const basic = Buffer.from(`x-access-token:${credential}`).toString('base64')
  return {
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraHeader`,
    GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
  }
}

function fetchError(stderr: string): ProgramError {
  if (/not our ref|unadvertised|couldn't find remote ref|no such remote ref/i.test(stderr)) {
    return new ProgramError('no-such-commit', 'the git host does not have the commit')
  }
  if (
    /authentication failed|could not read (username|password)|terminal prompts disabled|returned error: (401|403|404)|not found/i.test(
      stderr,
    )
  ) {
    return new ProgramError('clone-refused', 'the git host does not show the repository to us')
  }
  return new ProgramError('clone-failed', `git could not fetch the commit: ${lastLine(stderr)}`)
}

function branchName(ref: string | undefined): string {
  return ref?.startsWith('refs/heads/') ? ref : 'refs/heads/handoff'
}

export const tarOf = (work: string, repositoryName: string) => join(work, `${repositoryName}.git.tar`)

/** While a tag points to the commit, git packs all trees before all files. Otherwise each directory stands before its files. */
const packingTag = 'refs/tags/handoff-packing'

/**
 * Makes the tar. In it is one pack without deltas, so that each object can be read alone, and the trees stand together, so that many are one range. The
 * same commit gives the same names, owners and times; only git's own files may differ.
 */
export async function pack(work: string, repositoryName: string, account: Account | undefined): Promise<string> {
  const name = `${repositoryName}.git`
  const tar = tarOf(work, repositoryName)
  const options = account ? { account } : {}
  const environment = localGitEnvironment
  const git = (...words: string[]) =>
    requireSuccess(
      runCommand('git', [...gitOptions, '-C', join(work, name), ...words], work, { ...options, environment }),
      'git could not pack the clone',
    )
  await git('update-ref', packingTag, 'HEAD')
  await git('repack', '-a', '-d', '-f', '--window=0', '--quiet')
  await git('update-ref', '-d', packingTag)
  const args = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mtime=@0',
    '--mode=u+rw,go+r',
    '-cf',
    tar,
    name,
  ]
  await requireSuccess(runCommand('tar', args, work, options), 'tar could not pack the clone')
  return tar
}

const unpackedIn = (work: string) => join(work, 'unpacked')

/**
 * Unpacks the objects of the tar in a later sandbox, beside a repository that this sandbox starts itself. Configuration, hooks, attributes, alternates
 * and refs of the tar are not used: a changed one could have git run a program.
 */
export async function unpack(tar: string, work: string, name: string, account: Account | undefined): Promise<void> {
  const options = account ? { account } : {}
  const place = unpackedIn(work)
  const unpacked = `mkdir -p "$1" && tar -C "$1" --no-same-owner --no-same-permissions -xf "$2" "$3"`
  const args = ['-c', unpacked, 'unpack', place, tar, `${name}.git/objects`]
  const init = ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', join(work, `${name}.git`)]
  await Promise.all([
    requireSuccess(runCommand('sh', args, work, options), 'tar could not unpack the clone'),
    requireSuccess(
      runCommand('git', [...gitOptions, ...init], work, { ...options, environment: localGitEnvironment }),
      'git could not start a repository',
    ),
  ])
}

/** In the untrusted account: takes plain files with the names of git's objects into the repository. */
export async function adoptObjects(work: string, name: string): Promise<void> {
  const from = join(unpackedIn(work), `${name}.git`, 'objects')
  const to = join(work, `${name}.git`, 'objects')
  // A link is neither a directory nor a file here.
  const folders = (await readdir(from, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  for (const { name: folder } of folders) {
    const isObject = folder === 'pack' ? isPackFile : /^[0-9a-f]{2}$/.test(folder) ? isLooseFile : undefined
    if (!isObject) continue
    const entries = await readdir(join(from, folder), { withFileTypes: true })
    const wanted = entries.filter((entry) => entry.isFile() && isObject(entry.name))
    await mkdir(join(to, folder), { recursive: true })
    await Promise.all(wanted.map((entry) => rename(join(from, folder, entry.name), join(to, folder, entry.name))))
  }
}

const isPackFile = (name: string) => /^pack-[0-9a-f]{40}\.(?:pack|idx)$/.test(name)
const isLooseFile = (name: string) => /^[0-9a-f]{38}$/.test(name)

async function requireSuccess(running: ReturnType<typeof runCommand>, what: string): Promise<void> {
  const finished = await running
  if (finished.exitCode !== 0) throw new ProgramError('clone-failed', `${what}: ${lastLine(finished.stderr)}`)
}
