// What the local GitHub knows: people, repositories, pull requests, comments with everything that became of them, and tokens.
// Tests build it with the functions of LocalGitHub and look at it afterwards; the HTTP side reads and changes it as GitHub would.

export interface User {
  id: number
  login: string
  type: 'User' | 'Bot' | 'Organization'
}

export type Role = 'admin' | 'maintain' | 'write' | 'triage' | 'read'

export interface Repository {
  id: number
  owner: User
  name: string
  defaultBranch: string
  private: boolean
  /** A git directory that branches and comparisons are read from. */
  directory?: string
  /** By login. Where there is a custom role, the name GitHub shows and the role it stands on. */
  collaborators: Map<string, Role | { name: string; base: Role }>
  /** Branches that are not read from the directory. */
  branches: Map<string, string>
  pulls: Map<number, Pull>
  /** Numbers of plain issues. */
  issues: Set<number>
  /** Numbers of discussions. */
  discussions: Set<number>
  /** The installation of our App, where there is one. */
  installation?: number
  /** Its owner suspended the installation. */
  suspended?: boolean
}

/** Tests change `head.sha` and `locked` as they like. */
export interface Pull {
  number: number
  author: User
  state: 'open' | 'closed'
  locked: boolean
  /** `repository` is null when the fork was deleted. */
  head: { ref: string; sha: string; repository: Repository | null }
  base: { ref: string; sha: string }
}

export interface StoredComment {
  kind: 'issue' | 'review' | 'discussion'
  id: number
  repository: Repository
  number: number
  author: User
  body: string
  createdAt: number
  updatedAt: number
  /** For replies in a review thread or on a discussion: the first comment. */
  root?: number
  /** Every body it had, the present one last, and who wrote it. */
  history: { at: number; by: string; body: string }[]
  deleted?: { at: number; by: string }
  reactions: StoredReaction[]
}

export interface StoredReaction {
  id: number
  user: User
  content: string
  at: number
  /** Taken back. */
  removed?: boolean
}

export type PermissionName = 'contents' | 'discussions' | 'issues' | 'pull_requests' | 'metadata'
export type Grant = 'read' | 'write'

export interface Token {
  user: User
  /** Tokens of Apps and of Actions; they are refused where a person is meant. */
  installation: boolean
  /** A person's token for our App: it reaches what both may reach. */
  forApp?: boolean
  permissions: Partial<Record<PermissionName, Grant>>
  /** Null for all repositories. */
  repositories: Set<number> | null
  expiresAt?: number
  revoked?: boolean
}

export interface GitHubState {
  /** Where people look, and where the API is. */
  serverUrl: string
  apiUrl: string
  users: Map<string, User>
  repositories: Map<string, Repository>
  comments: StoredComment[]
  tokens: Map<string, Token>
  nextId: () => number
}

export function makeGitHubState(): GitHubState {
  let id = 1_000
  return {
    serverUrl: '',
    apiUrl: '',
    users: new Map(),
    repositories: new Map(),
    comments: [],
    tokens: new Map(),
    nextId: () => {
      id += 1
      return id
    },
  }
}

/** Names are one, however they are written. */
export const caseFoldedName = (name: string) => name.toLowerCase()

export const fullNameOf = (repository: Repository) => `${repository.owner.login}/${repository.name}`

export function ensureUser(state: GitHubState, login: string, options: Partial<User> = {}): User {
  const known = state.users.get(caseFoldedName(login))
  if (known) return Object.assign(known, options)
  const type = login.endsWith('[bot]') ? 'Bot' : 'User'
  const user: User = { id: state.nextId(), login, type, ...options }
  state.users.set(caseFoldedName(login), user)
  return user
}

export function findComment(state: GitHubState, kind: StoredComment['kind'], repository: Repository, id: number) {
  return state.comments.find(
    (comment) => comment.kind === kind && comment.id === id && comment.repository === repository && !comment.deleted,
  )
}

interface NewComment {
  kind: StoredComment['kind']
  repository: Repository
  number: number
  author: User
  body: string
  root?: number
}

export function writeComment(state: GitHubState, fresh: NewComment): StoredComment {
  const now = Date.now()
  const comment: StoredComment = {
    ...fresh,
    id: state.nextId(),
    createdAt: now,
    updatedAt: now,
    history: [{ at: now, by: fresh.author.login, body: fresh.body }],
    reactions: [],
  }
  state.comments.push(comment)
  return comment
}

export function editComment(comment: StoredComment, by: User, body: string): void {
  const now = Date.now()
  comment.body = body
  comment.updatedAt = now
  comment.history.push({ at: now, by: by.login, body })
}

export function removeComment(comment: StoredComment, by: User): void {
  comment.deleted = { at: Date.now(), by: by.login }
}
