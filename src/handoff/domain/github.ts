// The interface of GitHub: repositories, pull requests, permissions and comments. Every implementation passes test/contract/github.ts.
//
// All calls reject with a HandoffError and never show a token. A missing object (a deleted comment) is null or false, not an error.
// Calls that read, edit, delete or react are retried after 5xx and lost connections. Rate limits are waited for within the call's signal and the
// configured maximum; then the call rejects with `git` and `retryAfterSeconds`.

export interface Call {
  signal: AbortSignal
  /** If false, the call rejects at once when GitHub limits the rate. */
  patient?: boolean
}

export interface GitHub {
  /** The address of the web pages: `https://github.com`, without a trailing slash. */
  readonly serverUrl: string
  /** The account that writes handoff's comments in this repository. */
  identity(repository: string, call: Call): Promise<Author>
  repository(repository: string, call: Call): Promise<RepositoryFacts>
  pull(repository: string, number: number, call: Call): Promise<PullFacts>
  /** Null if the branch does not exist. */
  branchHead(repository: string, branch: string, call: Call): Promise<string | null>
  /** The permission of this user; level `none` for an unknown one. */
  permissionOf(repository: string, login: string, call: Call): Promise<Permission>
  /** The changes from the merge base of `base` and `head` to `head`; null if GitHub lacks one of them. */
  compare(repository: string, base: string, head: string, call: Call): Promise<Comparison | null>

  /**
   * The only comment of handoff in the thread whose body starts with `marker`: found, or created with `body` (which starts with it). Concurrent
   * calls and lost replies may create several; every call returns the oldest, and the others are deleted. Comments older than `since` are not
   * read. `created` is false if the comment existed before or another call created it.
   */
  ensureComment(thread: Thread, wanted: WantedComment, call: Call): Promise<{ comment: Comment; created: boolean }>
  /** handoff's comments in the thread whose bodies start with `marker`, oldest first. With `everyThread`: in all threads of that kind. */
  ownComments(
    thread: Thread,
    wanted: { marker: string; since?: string; everyThread?: boolean },
    call: Call,
  ): Promise<Comment[]>
  /** Not retried: after a lost reply it rejects with `git`, and the comment may exist. `ensureComment` handles that case. */
  createComment(thread: Thread, body: string, call: Call): Promise<Comment>
  getComment(key: CommentKey, call: Call): Promise<Comment | null>
  updateComment(key: CommentKey, body: string, call: Call): Promise<Comment | null>
  /** Idempotent: false if the comment did not exist. */
  deleteComment(key: CommentKey, call: Call): Promise<boolean>

  /** Idempotent. False if the comment does not exist. */
  addReaction(key: CommentKey, reaction: Reaction, call: Call): Promise<boolean>
  /** Removes handoff's own reactions of these kinds. Idempotent. */
  removeReactions(key: CommentKey, reactions: Reaction[], call: Call): Promise<void>
}

export type Reaction = 'eyes' | 'rocket' | 'confused'

export interface Author {
  login: string
  id: number
  /** `User`, `Bot`, `Organization` or another type of GitHub. */
  type: string
}

/**
 * The thread of a conversation. `root` is the first comment of a review thread; GitHub accepts replies to that one only. `discussion` and
 * `comment` are GraphQL ids, because REST has no discussions; `comment` is the one with the question.
 */
export type Thread =
  | { kind: 'issue'; repository: string; number: number }
  | { kind: 'review'; repository: string; number: number; root: number }
  | { kind: 'discussion'; repository: string; number: number; discussion: string; comment: string }

/** Each kind of comment has its own sequence of ids. */
export interface CommentKey {
  kind: Thread['kind']
  repository: string
  id: number
  /** The GraphQL id; comments on discussions have one. */
  node?: string | undefined
}

export interface Comment extends CommentKey {
  body: string
  author: Author
  /** The address of the comment's web page. */
  url: string
  createdAt: string
  updatedAt: string
  /** The first comment of the review thread, if this is a reply. */
  root?: number
}

export interface WantedComment {
  marker: string
  body: string
  since?: string
}

export interface RepositoryFacts {
  id: number
  ownerId: number
  fullName: string
  defaultBranch: string
  private: boolean
}

export interface PullFacts {
  number: number
  state: 'open' | 'closed'
  author: Author
  head: PullSide
  base: PullSide
  /** True if the head is in another repository, or in a deleted one. */
  fork: boolean
}

export interface PullSide {
  ref: string
  sha: string
  /** Null if the fork was deleted. */
  repository: { id: number; fullName: string; private: boolean } | null
}

/** The permission that a setting can require of people who ask. Each level includes those before it. */
export const askLevels = ['read', 'triage', 'write', 'maintain', 'admin'] as const
export type AskLevel = (typeof askLevels)[number]

export const permissionLevels = ['none', ...askLevels] as const
export type PermissionLevel = (typeof permissionLevels)[number]

export interface Permission {
  level: PermissionLevel
  /** GitHub's name of the role; organisations may define custom roles. */
  roleName: string
  /** The account that has this login now; null if there is none. */
  user: Author | null
}

export interface Comparison {
  status: 'identical' | 'ahead' | 'behind' | 'diverged'
  /** The newest common commit. */
  mergeBase: string
  files: ChangedFile[]
  /** False if GitHub truncated the list of files (at 300). */
  complete: boolean
}

/** One file as it differs between the merge base and the head. */
export interface ChangedFile {
  /** What it is called at the head. */
  path: string
  previousPath?: string | undefined
  /** `added`, `removed`, `modified`, `renamed`, `copied`, `changed`, `unchanged`. */
  status: string
  /** The blob at the head; null if the file was removed. */
  blob: string | null
  /** The unified diff without file header; empty for a moved file, absent for binary and very large changes. */
  patch?: string | undefined
}
