// Which repository the demo is about: a path or an address becomes a commit that a sandbox can clone.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makeGitHost } from '../handoff/clients/git/ls-remote.js'
import { type Commit, fullName, HandoffError, parseRepository, quote, type Repository } from '../handoff/index.js'
import { parseHttpUrl } from '../handoff/util/http-url.js'
import type { OpenClouds } from './resolve-clouds.js'

const execute = promisify(execFile)

type Target =
  | {
      kind: 'path'
      directory: string
      sha: string
      branch?: string | undefined
      repository: Repository
      dirty: boolean
    }
  | { kind: 'url'; url: string; repository: Repository; at?: string }

const address = /^[a-z][a-z+.-]*:\/\//i
/** `git@host:owner/name`: a sandbox has no ssh key, so the same repository is read by https. */
const sshAddress = /^[\w.-]+@([\w.-]+):(?!\/\/)\/?(.+)$/
const gitHubName = /^[\w-]+\/[\w.-]+$/

/** Whether this can be the name of a repository at all; a question with words in it cannot. */
export function namesTarget(text: string): boolean {
  if (address.test(text) || sshAddress.test(text) || /^(\.{0,2}|~)\//.test(text) || existsSync(text)) return true
  return !/\s|[?？؟]$/.test(text)
}

/** An address, a path, or the `owner/name` of a repository on GitHub. */
export async function readTarget(text: string): Promise<Target> {
  if (address.test(text)) return addressTarget(text)
  const [, host, path] = sshAddress.exec(text) ?? []
  if (host !== undefined && path !== undefined) return addressTarget(`https://${host}/${path}`)
  if (text === '')
    throw new HandoffError('invalid-input', 'The path of the repository is empty.', {
      next: 'Give the path of a clone, or an https:// address.',
    })
  const directory = resolve(text)
  if (gitHubName.test(text) && !existsSync(directory)) return addressTarget(`https://github.com/${text}`)
  return pathTarget(directory)
}

function addressTarget(text: string): Target {
  const url = parseHttpUrl(text)
  if (!url && /^https?:[^?#]*@/i.test(text)) {
    throw new HandoffError('invalid-input', 'The address carries a credential.', {
      next: 'Take it out and set HANDOFF_CLONE_TOKEN instead.',
    })
  }
  if (!url) {
    throw new HandoffError('invalid-input', `${quote(text)} is not an http(s) address of a git repository.`, {
      next: 'Write https://host/owner/name, or the path of a clone.',
    })
  }
  // GitHub writes /owner/name/tree/branch, GitLab /owner/name/-/tree/branch.
  const [, path = '', at] = /^\/*([^/]+\/.+?)\/(?:-\/)?(?:tree|blob|commit)\/(.+)$/.exec(url.pathname) ?? [
    '',
    url.pathname.replace(/^\/+/, ''),
  ]
  const name = path.replace(/\/+$/, '').replace(/\.git$/, '')
  return {
    kind: 'url',
    url: `${url.origin}/${name}.git`,
    repository: parseRepository(name.includes('/') ? name : `git/${name}`, url.host),
    ...(at === undefined ? {} : { at: decodeURIComponent(at).replace(/\/+$/, '') }),
  }
}

async function pathTarget(directory: string): Promise<Target> {
  if (!existsSync(directory)) {
    throw new HandoffError('not-found', `There is nothing at ${directory}.`, {
      next: 'Give the path of a git repository, an https:// address, or owner/name.',
    })
  }
  const ifExit = <T>(code: number, value: T) => {
    return (error: unknown): T => {
      if ((error as { code?: unknown }).code === code) return value
      throw noRepository(directory, error)
    }
  }
  const git = (...args: string[]) =>
    execute('git', ['-C', directory, ...args], { maxBuffer: 64 << 20, env: { ...process.env, LC_ALL: 'C' } }).then(
      (done) => done.stdout.trim(),
    )
  const top = await git('rev-parse', '--absolute-git-dir').catch((error: unknown) => {
    throw noRepository(directory, error)
  })
  const sha = await git('rev-parse', '--verify', '--quiet', 'HEAD^{commit}').catch(ifExit(1, undefined))
  if (sha === undefined)
    throw new HandoffError('not-found', `The repository at ${directory} has no commit yet.`, {
      next: 'Commit something first.',
    })
  const [branch, status, inside] = await Promise.all([
    git('symbolic-ref', '--quiet', '--short', 'HEAD').catch(ifExit(1, undefined)),
    // A bare repository has no work tree.
    git('status', '--porcelain', '--untracked-files=no').catch(ifExit(128, '')),
    git('rev-parse', '--show-toplevel').catch(ifExit(128, top)),
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
    branch,
  }
}

/** Why git found no repository in a directory that exists. */
function noRepository(directory: string, cause: unknown): HandoffError {
  const { code, signal, stderr = '' } = cause as { code?: unknown; signal?: string; stderr?: string }
  if (code === 'ENOENT') {
    return new HandoffError('missing-setting', 'There is no git on this machine.', {
      next: 'Install git, or give an https:// address: then git is needed in the sandbox only.',
      cause,
    })
  }
  if (stderr.includes('dubious ownership')) {
    return new HandoffError(
      'forbidden',
      `The repository at ${directory} belongs to another user, and git refuses it.`,
      {
        next: `If you trust it: git config --global --add safe.directory ${directory}`,
        cause,
      },
    )
  }
  if (stderr.includes('not a git repository')) {
    return new HandoffError('invalid-input', `${directory} is not a git repository.`, {
      next: 'Give the path of a clone, or an https:// address.',
      cause,
    })
  }
  const said = stderr.trim().replace(/^fatal: /, '') || String(code ?? signal)
  return new HandoffError('git', `git cannot read ${directory}: ${quote(said)}.`, {
    next: 'Run git status there and mend what it says.',
    cause,
  })
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
  const commit = await commitAt(target, clouds, signal)
  return { commit, title: target.at === undefined ? target.url : `${target.url} (${target.at})`, isRemote: true }
}

async function commitAt(
  { url, repository, at }: Extract<Target, { kind: 'url' }>,
  clouds: OpenClouds,
  signal: AbortSignal,
): Promise<Commit> {
  const [first = '', ...rest] = at?.split('/') ?? []
  if (/^[0-9a-f]{40}$/.test(first)) return { repository, sha: first, cloneUrl: url }
  // A branch may have slashes in its name, and a path may follow it: the longest name that exists is meant.
  const names = [first, ...rest.slice(0, 9).map((_, index) => [first, ...rest.slice(0, index + 1)].join('/'))].reverse()
  const refs = at === undefined ? ['HEAD'] : names.flatMap((name) => [`refs/heads/${name}`, `refs/tags/${name}`])
  const host = makeGitHost({ token: clouds.settings().cloneToken })
  const heads = await host.heads(url, refs, signal)
  const ref = refs.find((one) => heads.has(one))
  const sha = ref === undefined ? undefined : heads.get(ref)
  if (ref === undefined || sha === undefined) {
    if (at === undefined)
      throw new HandoffError('not-found', `${url} has no commit yet.`, { next: 'Push something first.' })
    throw new HandoffError('not-found', `${url} has no branch or tag called ${quote(at)}.`, {
      next: 'Give the address without /tree/… for its main branch.',
    })
  }
  return { repository, sha, cloneUrl: url, ...(ref.startsWith('refs/heads/') ? { ref } : {}) }
}
