// Where everything is: repositories, commits, runs, and the one table of paths. Nobody else joins paths of the run directory.
import { hash } from 'node:crypto'
import { HandoffError } from './errors.js'

export interface Repository {
  /** The git host's name as it stands in an address: `github.com`, `git.example.org:8443`. */
  host: string
  /** One segment on GitHub; groups on other hosts may nest (`group/subgroup`). */
  owner: string
  name: string
  /** The host's own number for it, where it has one: a name can be given away, the number cannot. */
  id?: string
}

/** What was pushed. `ref` is where it was pushed to: `refs/heads/…` or `refs/pull/…`. */
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
  if (sha.test(text.slice(0, 40)) && text[40] === '-' && attempt.test(text.slice(41))) return text as RunId
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

/** Reads `owner/name` (or deeper groups); anything that could leave its folder is refused. */
export function parseRepository(text: string, host: string): Repository {
  const parts = text.split('/')
  const name = parts.pop() ?? ''
  if (parts.length === 0 || parts.length > 10 || !segment.test(name) || !parts.every((part) => segment.test(part))) {
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
 * Makes one path segment of any ref name; no two names meet. A short name is reversible. A long one is cut and ends in a hash behind a tilde, which
 * no short one holds.
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

/** The names of what a run directory holds, relative to it. */
export const artifact = {
  clone: (repository: Repository) => `project/${repository.name}.git.tar`,
  tree: (repository: Repository) => `project/${repository.name}`,
  files: 'analysis/files.json',
  /** Only beside the plain form: every plain file with its hash, and what the drive could not keep. */
  treeTable: 'analysis/tree.json',
  outline: 'analysis/outline.json',
  summaryCache: 'analysis/prose.json',
  summary: 'analysis/code-summary.md',
  handoff: 'analysis/handoff.json',
  latestAnswer: 'analysis/qa-response.md',
  ledger: 'analysis/qa',
  answer: (id: string) => `analysis/qa/${id}.json`,
} as const

export interface Layout {
  repository: string
  runs: string
  commits: string
  pointer: (commitSha: string) => string
  /** What a run is about to seal, written beside the pointer before the seal and removed after it: how a crash between the two is mended. */
  sealNote: (run: RunId) => string
  /** Prose paid for so far, so that an attempt that died need not be paid for twice. */
  checkpoint: (commitSha: string) => string
  /** `refs/heads/…` or `refs/pull/<n>`; anything else has no file. */
  ref: (ref: string) => string
  refs: string
  run: (run: RunId) => string
}

/**
 * Every path on drive9 that belongs to a repository. `root` is where the operator put handoff: `/` or `/some/folder`. Names on GitHub have no case, so
 * a repository has one place, in lower case.
 */
export function layout(root: string, repository: Repository): Layout {
  return layoutAsSpelled(root, lowerCase(repository))
}

/** Where it was kept before names were stored in lower case; undefined where that is the same place. */
export function olderLayout(root: string, repository: Repository): Layout | undefined {
  return fullName(repository) === fullName(lowerCase(repository)) ? undefined : layoutAsSpelled(root, repository)
}

function lowerCase(repository: Repository): Repository {
  return { ...repository, owner: repository.owner.toLowerCase(), name: repository.name.toLowerCase() }
}

/** The folder of a repository's git host. */
export function hostFolder(root: string, host: string): string {
  return `${root.replace(/\/+$/, '')}/${host.replace(':', '_')}`
}

/** For a repository that was found by the name of its folder. */
export function layoutAsSpelled(root: string, repository: Repository): Layout {
  const top = `${hostFolder(root, repository.host)}/${fullName(repository)}`
  return {
    repository: top,
    runs: `${top}/runs`,
    commits: `${top}/commits`,
    refs: `${top}/refs`,
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
export const serviceDirectory = (root: string) => `${root.replace(/\/+$/, '')}/_service`

export const budgetsDirectory = (root: string) => `${serviceDirectory(root)}/budgets`

/** The file with the usage of one caller. */
export const budgetPath = (root: string, callerHash: string) => `${budgetsDirectory(root)}/${callerHash}.json`

/** Untrusted text inside a message: short, on one line, without control characters. */
export function quote(text: string): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '�')
  return `“${plain.length > 80 ? `${plain.slice(0, 79)}…` : plain}”`
}
