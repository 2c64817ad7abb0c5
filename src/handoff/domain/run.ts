// Repositories, commits, runs, and the table of all paths on drive9. No other module builds such a path.

import { hash } from 'node:crypto'
import { HandoffError } from './errors.js'

export interface Repository {
  /** The git host as in an address: `github.com`, `git.example.org:8443`. */
  host: string
  /** One segment on GitHub; groups on other hosts may nest (`group/subgroup`). */
  owner: string
  name: string
  /** The host's id of the repository, if it has one. A name can be reused by another repository, an id cannot. */
  id?: string | undefined
}

/** A pushed commit. `ref` is `refs/heads/…` or `refs/pull/…`. */
export interface Commit {
  repository: Repository
  /** 40 lowercase hexadecimal digits. */
  sha: string
  ref?: string
  /** Never carries a credential. */
  cloneUrl: string
}

export type RunId = string & { readonly brand: 'RunId' }

const sha = /^[0-9a-f]{40}$/
const attempt = /^[a-z0-9][a-z0-9-]{0,63}$/

export function parseSha(text: string): string {
  if (sha.test(text)) return text
  throw new HandoffError('invalid-input', `${quote(text)} is not a full commit id.`, {
    next: 'Give all 40 hexadecimal digits, in lower case.',
  })
}

export function makeRunId(commitSha: string, attemptName: string): RunId {
  if (!attempt.test(attemptName)) {
    throw new HandoffError('invalid-input', `${quote(attemptName)} cannot name an attempt.`, {
      next: 'Use up to 64 lowercase letters, digits and dashes.',
    })
  }
  return `${parseSha(commitSha)}-${attemptName}` as RunId
}

export function parseRunId(text: string): RunId {
  if (isRunId(text)) return text as RunId
  throw new HandoffError('invalid-input', `${quote(text)} is not a run id.`, {
    next: 'A run id is a full commit id, a dash and an attempt, as the summary printed it.',
  })
}

export function shaOf(run: RunId): string {
  return run.slice(0, 40)
}

/** `owner/name`, for people. */
export function fullName(repository: Repository): string {
  return `${repository.owner}/${repository.name}`
}

const segment = /^(?!\.{1,2}$)[A-Za-z0-9_.~-]{1,100}$/

/** Nothing in a run directory passes for a repository, because a sandbox writes there. */
const isRunId = (name: string) => sha.test(name.slice(0, 40)) && name[40] === '-' && attempt.test(name.slice(41))

/** Parses `owner/name` (or nested groups, which GitHub does not have). Refuses names that could leave their folder. */
export function parseRepository(text: string, host: string): Repository {
  const parts = text.split('/')
  const name = parts.pop() ?? ''
  const mostOwners = host.toLowerCase() === 'github.com' ? 1 : 10
  const isNamed = [...parts, name].every((part) => segment.test(part) && !isRunId(part))
  if (parts.length === 0 || parts.length > mostOwners || !isNamed) {
    throw new HandoffError('invalid-input', `${quote(text)} is not a repository name.`, {
      next: 'Write it as owner/name.',
    })
  }
  if (!/^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(host)) {
    throw new HandoffError('invalid-input', `${quote(host)} is not the name of a git host.`)
  }
  return { host: host.toLowerCase(), owner: parts.join('/'), name }
}

const longestSegment = 200

/**
 * Encodes a ref name as one path segment, without collisions. A short name is reversible. A long one is cut and ends in a tilde and a hash;
 * no short one contains a tilde.
 */
export function encodeSegment(text: string): string {
  const bytes = new TextEncoder().encode(text)
  let encoded = ''
  for (const byte of bytes) {
    const character = String.fromCharCode(byte)
    encoded += /[A-Za-z0-9_-]/.test(character) || (character === '.' && encoded !== '') ? character : `%${hex(byte)}`
  }
  if (encoded.length <= longestSegment) return encoded
  const digest = hash('sha256', bytes)
  const start = encoded.slice(0, longestSegment - digest.length - 1).replace(/%.?$/, '')
  return `${start}~${digest}`
}

const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, '0')

/** The files of a run directory, relative to it. */
const changes = 'analysis/changes/'

export const artifact = {
  readme: 'README.md',
  clone: (repository: Repository) => `project/${repository.name}.git.tar`,
  tree: (repository: Repository) => `project/${repository.name}`,
  files: 'analysis/files.json',
  /** With the plain form only: every plain file with its hash, and the entries that the drive could not store. */
  treeTable: 'analysis/tree.json',
  outline: 'analysis/outline.json',
  /** The index for the search: what is read whole, and what is read by ranges. Old runs have none. */
  searchTable: 'analysis/search-table.gz',
  searchPages: 'analysis/search-pages',
  summaryRecord: 'analysis/summary.json',
  notes: 'analysis/notes.json',
  /** The notes of old runs. */
  summaryCache: 'analysis/prose.json',
  summary: 'analysis/code-summary.md',
  diagram: 'analysis/diagram.json',
  /** The corrections that hold for this commit, as known when the run was sealed. */
  corrections: 'analysis/corrections.json',
  /** What changed since another commit. */
  changes,
  change: (base: string) => `${changes}${base}.json`,
  handoff: 'analysis/handoff.json',
  latestAnswer: 'analysis/qa-response.md',
  answers: 'analysis/qa',
  answer: (id: string) => `analysis/qa/${id}.json`,
  feedback: (id: string) => `analysis/qa/${id}.feedback.json`,
} as const

/** What Sandbox A writes into, with the same paths below it. No token of a sandbox may write anywhere else. */
export const stageOf = (runDirectory: string) => `${runDirectory}/stage`

export interface Layout {
  repository: string
  runs: string
  commits: string
  pointer: (commitSha: string) => string
  /** The write-ahead record of a seal. It is written before the seal and removed after the pointer, to recover from a crash in between. */
  sealNote: (run: RunId) => string
  /** The texts that an unfinished attempt has paid for. */
  checkpoint: (commitSha: string) => string
  /** `refs/heads/…` or `refs/pull/<n>`; other refs have no file. */
  ref: (ref: string) => string
  refs: string
  /** What people corrected, of every commit. */
  corrections: string
  run: (run: RunId) => string
}

/**
 * The paths of a repository on drive9. `root` is the setting DRIVE9_ROOT as it was parsed: `/some/folder`, or empty for the top. Names on GitHub are case-insensitive, so the
 * paths are in lower case.
 */
export function layout(root: string, repository: Repository): Layout {
  return layoutAsSpelled(root, lowerCase(repository))
}

/** The paths from before names were stored in lower case; undefined if they are the same. */
export function olderLayout(root: string, repository: Repository): Layout | undefined {
  return fullName(repository) === fullName(lowerCase(repository)) ? undefined : layoutAsSpelled(root, repository)
}

function lowerCase(repository: Repository): Repository {
  return { ...repository, owner: repository.owner.toLowerCase(), name: repository.name.toLowerCase() }
}

/** The folder of a repository's git host. */
export function hostFolder(root: string, host: string): string {
  return `${root}/${host.replace(':', '_')}`
}

/** The paths of a repository by the exact name of its folder. */
export function layoutAsSpelled(root: string, repository: Repository): Layout {
  const top = `${hostFolder(root, repository.host)}/${fullName(repository)}`
  return {
    repository: top,
    runs: `${top}/runs`,
    commits: `${top}/commits`,
    refs: `${top}/refs`,
    corrections: `${top}/corrections.json`,
    pointer: (commitSha) => `${top}/commits/${parseSha(commitSha)}.json`,
    sealNote: (run) => `${top}/commits/${parseRunId(run)}.sealing.json`,
    checkpoint: (commitSha) => `${top}/commits/${parseSha(commitSha)}.parts.json`,
    ref: (ref) => `${top}/refs/${refFile(ref)}`,
    run: (run) => `${top}/runs/${parseRunId(run)}`,
  }
}

function refFile(ref: string): string {
  const pull = /^refs\/pull\/([1-9]\d{0,9})(\/(head|merge))?$/.exec(ref)
  if (pull) return `pull/${pull[1]}.json`
  if (ref.startsWith('refs/heads/') && ref.length > 11) return `heads/${encodeSegment(ref.slice(11))}.json`
  throw new HandoffError('invalid-input', `${quote(ref)} is neither a branch nor a pull request.`, {
    next: 'Write refs/heads/<branch> or refs/pull/<number>.',
  })
}

/** The directory of the service's files. No git host can have this name. */
export const serviceDirectory = (root: string) => `${root}/_service`

export const budgetsDirectory = (root: string) => `${serviceDirectory(root)}/budgets`

/** The file with the usage of one caller. */
export const budgetPath = (root: string, callerHash: string) => `${budgetsDirectory(root)}/${callerHash}.json`

/** Untrusted text inside a message: short, on one line, without control characters. */
export function quote(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '�')
  return `“${plain.length > 80 ? `${plain.slice(0, 79)}…` : plain}”`
}
