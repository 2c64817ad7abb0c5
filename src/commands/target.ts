// Which repository the demo is about: a path or an address becomes a commit that a sandbox can clone.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Commit, fullName, HandoffError, parseRepository, quote, type Repository } from '../handoff/index.js'
import { makeGitHost } from '../handoff/lines/git.js'
import type { OpenClouds } from './clouds-of.js'

const execute = promisify(execFile)

export type Target =
  | { kind: 'path'; directory: string; sha: string; branch?: string; repository: Repository; dirty: boolean }
  | { kind: 'url'; url: string; repository: Repository }

/** What somebody typed: an address with a scheme is an address, everything else is a path. */
export async function readTarget(text: string): Promise<Target> {
  // `git@host:owner/name` is an address too, of a kind that a sandbox has no key for.
  if (/^[a-z][a-z+.-]*:\/\//i.test(text) || /^[\w.-]+@[\w.-]+:/.test(text)) return addressTarget(text)
  if (text === '')
    throw new HandoffError('invalid-input', 'The path of the repository is empty.', {
      next: 'Give the path of a clone, or an https:// address.',
    })
  return pathTarget(resolve(text))
}

function addressTarget(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new HandoffError('invalid-input', `${quote(text)} is not an http(s) address of a git repository.`, {
      next: 'Write https://host/owner/name, or the path of a clone.',
    })
  }
  if (url.username !== '' || url.password !== '') {
    throw new HandoffError('invalid-input', 'The address carries a credential.', {
      next: 'Take it out and set HANDOFF_CLONE_TOKEN instead.',
    })
  }
  const name = url.pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '')
  return {
    kind: 'url',
    url: `${url.origin}/${name}.git`,
    repository: parseRepository(name.includes('/') ? name : `git/${name}`, url.host),
  }
}

async function pathTarget(directory: string): Promise<Target> {
  if (!existsSync(directory)) {
    throw new HandoffError('not-found', `There is nothing at ${directory}.`, {
      next: 'Give the path of a git repository, or an https:// address.',
    })
  }
  const git = (...args: string[]) =>
    execute('git', ['-C', directory, ...args], { maxBuffer: 64 << 20 }).then((done) => done.stdout.trim())
  const top = await git('rev-parse', '--absolute-git-dir').catch(() => undefined)
  if (top === undefined) {
    throw new HandoffError('invalid-input', `${directory} is not a git repository.`, {
      next: 'Give the path of a clone, or an https:// address.',
    })
  }
  const sha = await git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}').catch(() => undefined)
  if (sha === undefined)
    throw new HandoffError('not-found', `The repository at ${directory} has no commit yet.`, {
      next: 'Commit something first.',
    })
  const [branch, status, inside] = await Promise.all([
    git('symbolic-ref', '--quiet', '--short', 'HEAD').catch(() => undefined),
    git('status', '--porcelain', '--untracked-files=no').catch(() => ''),
    git('rev-parse', '--show-toplevel').catch(() => top),
  ])
  const name =
    basename(inside)
      .replace(/\.git$/, '')
      .replace(/[^A-Za-z0-9_.~-]/g, '-') || 'repository'
  return {
    kind: 'path',
    directory: inside,
    sha,
    repository: parseRepository(`local/${name}`, 'localhost'),
    dirty: status !== '',
    ...(branch === undefined ? {} : { branch }),
  }
}

export function commitOf(target: Extract<Target, { kind: 'path' }>, cloneUrl: string): Commit {
  return {
    repository: target.repository,
    sha: target.sha,
    cloneUrl,
    ...(target.branch === undefined ? {} : { ref: `refs/heads/${target.branch}` }),
  }
}

export interface Subject {
  commit: Commit
  title: string
  note?: string
  /** On a git host, where a credential may be wanted. */
  isRemote: boolean
}

/** Serves a path by HTTP so that a sandbox can clone it; asks an address for its head. */
export async function resolveTarget(text: string, clouds: OpenClouds, signal: AbortSignal): Promise<Subject> {
  const target = await readTarget(text)
  if (target.kind === 'path') {
    const cloneUrl = await clouds.serve(target.directory, fullName(target.repository))
    return {
      commit: commitOf(target, cloneUrl),
      title: `${target.directory}${target.branch ? ` (${target.branch})` : ''}`,
      isRemote: false,
      ...(target.dirty ? { note: 'There are changes that are not committed; they are not part of it.' } : {}),
    }
  }
  return { commit: await headOf(target, clouds, signal), title: target.url, isRemote: true }
}

async function headOf(
  target: Extract<Target, { kind: 'url' }>,
  clouds: OpenClouds,
  signal: AbortSignal,
): Promise<Commit> {
  const { cloneToken } = clouds.settings()
  const heads = await makeGitHost(cloneToken === undefined ? {} : { credentials: { password: cloneToken } }).heads(
    target.url,
    ['HEAD'],
    signal,
  )
  const sha = heads.get('HEAD')
  if (sha === undefined)
    throw new HandoffError('not-found', `${target.url} has no commit yet.`, { next: 'Push something first.' })
  return { repository: target.repository, sha, cloneUrl: target.url }
}
