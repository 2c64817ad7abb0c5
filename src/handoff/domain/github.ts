// GitHub as workflows see it: repositories, pull requests, permissions, and comments (in a conversation, a review thread, a discussion). Every implementation passes the suite in test/contract/github.ts.
//
// All calls reject with a HandoffError and never show a token. What is gone (a deleted comment) is an answer, not an error: null or false.
// Calls that only read, edit, delete or react are repeated after 5xx and lost connections. Limits are waited for as GitHub asks, as long as
// the call's signal and the operator's patience allow; then the call rejects with `git` and `retryAfterSeconds`.

export interface Call {
  signal: AbortSignal
  /** False: reject at once where GitHub asks to wait, for what is not worth waiting for. */
  patient?: boolean
}

export interface GitHub {
  /** Where people look at things: `https://github.com`. No slash at its end. */
  readonly serverUrl: string
  /** Who writes what we write to this repository. */
  identity(repository: string, call: Call): Promise<Author>
  repository(repository: string, call: Call): Promise<RepositoryFacts>
  pull(repository: string, number: number, call: Call): Promise<PullFacts>
  /** Null when there is no such branch. */
  branchHead(repository: string, branch: string, call: Call): Promise<string | null>
  /** What this user may do; level `none` for people GitHub does not know. */
  permissionOf(repository: string, login: string, call: Call): Promise<Permission>
  /** What happened from `base` to `head`, seen from where they parted; null when GitHub does not know one of them (any more). */
  compare(repository: string, base: string, head: string, call: Call): Promise<Comparison | null>

  /**
   * The one comment of ours in the thread whose body starts with `marker`: found, or created with `body` (which starts with it). Whoever
   * calls at the same time, however often, and whatever replies are lost, all get the oldest one and the others are deleted.
   * `since` spares reading what is older than the question. `created` is false when it is not of this call: it stood there before, or
   * somebody else was quicker.
   */
  ensureComment(thread: Thread, wanted: WantedComment, call: Call): Promise<{ comment: Comment; created: boolean }>
  /** Our own comments in the thread whose bodies start with `marker`, oldest first. With `everyThread`: in all threads of its kind there. */
  ownComments(
    thread: Thread,
    wanted: { marker: string; since?: string; everyThread?: boolean },
    call: Call,
  ): Promise<Comment[]>
  /** Not repeated: when the reply is lost it rejects with `git` and the comment may exist. `ensureComment` deals with that. */
  createComment(thread: Thread, body: string, call: Call): Promise<Comment>
  getComment(key: CommentKey, call: Call): Promise<Comment | null>
  updateComment(key: CommentKey, body: string, call: Call): Promise<Comment | null>
  /** Idempotent: false when it was gone already. */
  deleteComment(key: CommentKey, call: Call): Promise<boolean>

  /** Idempotent. False when the comment is gone. */
  addReaction(key: CommentKey, reaction: Reaction, call: Call): Promise<boolean>
  /** Takes back our own reactions of these kinds; idempotent. */
  removeReactions(key: CommentKey, reactions: Reaction[], call: Call): Promise<void>
}

export type Reaction = 'eyes' | 'rocket' | 'confused'

export interface Author {
  login: string
  id: number
  /** `User`, `Bot`, `Organization`, and whatever GitHub adds. */
  type: string
}

/**
 * Where a conversation stands. `root` is the first comment of a review thread; GitHub takes replies to that one only. `discussion` and `comment` are ids
 * of GraphQL, which alone knows discussions; `comment` is the one that asks.
 */
export type Thread =
  | { kind: 'issue'; repository: string; number: number }
  | { kind: 'review'; repository: string; number: number; root: number }
  | { kind: 'discussion'; repository: string; number: number; discussion: string; comment: string }

/** The kinds of comments are numbered apart. */
export interface CommentKey {
  kind: Thread['kind']
  repository: string
  id: number
  /** The id by which GraphQL knows it; comments on discussions have one. */
  node?: string
}

export interface Comment extends CommentKey {
  body: string
  author: Author
  /** Where people see it. */
  url: string
  createdAt: string
  updatedAt: string
  /** The first comment of its review thread, when it is a reply. */
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
  /** The head lies in another repository, or in one that is gone. */
  fork: boolean
}

export interface PullSide {
  ref: string
  sha: string
  /** Null when the fork was deleted. */
  repository: { id: number; fullName: string; private: boolean } | null
}

/** From nothing to everything; each includes those before it. */
export const permissionLevels = ['none', 'read', 'triage', 'write', 'maintain', 'admin'] as const
export type PermissionLevel = (typeof permissionLevels)[number]

export interface Permission {
  level: PermissionLevel
  /** As GitHub calls it; organisations may define roles of their own. */
  roleName: string
  /** Whom GitHub means by that name now. Null when it knows nobody. */
  user: Author | null
}

export interface Comparison {
  status: 'identical' | 'ahead' | 'behind' | 'diverged'
  /** The newest commit that both have. */
  mergeBase: string
  files: ChangedFile[]
  /** False when GitHub cut the list of files (it shows 300). */
  complete: boolean
}

/** One file as it differs between the merge base and the head. */
export interface ChangedFile {
  path: string
  previousPath?: string
  status: string
  /** The blob at the head; null when it was removed. */
  blob: string | null
  /** Hunks in unified form, without the file's header; empty for what only moved, absent for binary and for very large changes. */
  patch?: string
}
