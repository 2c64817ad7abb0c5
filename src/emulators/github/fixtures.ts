// How a test or the demo fills the local GitHub: people, repositories, pull requests, words and tokens.
import { randomBytes } from 'node:crypto'
import {
  caseFoldedName,
  editComment,
  ensureUser,
  fullNameOf,
  type GitHubState,
  type Pull,
  type Repository,
  type Role,
  removeComment,
  type StoredComment,
  type Token,
  type User,
  writeComment,
} from './state.js'

interface RepositoryOptions {
  /** `owner/name`. */
  name: string
  id?: number
  private?: boolean
  defaultBranch?: string
  /** A git directory to read branches and comparisons from. */
  directory?: string
  branches?: Record<string, string>
  collaborators?: Record<string, Role | { name: string; base: Role }>
  /** Installs our App there. */
  app?: boolean
}

interface PullOptions {
  number?: number
  author?: string
  head: { ref: string; sha: string; repository?: Repository | null }
  base?: { ref: string; sha: string }
}

interface TokenOptions {
  /** Whose it is; the bot of Actions when absent, and then it is a token as a job has it. */
  login?: string
  permissions: Token['permissions']
  /** All repositories when absent. */
  repositories?: Repository[]
}

export interface Fixtures {
  addUser(login: string, options?: Partial<User>): User
  addRepository(options: RepositoryOptions): Repository
  addPull(repository: Repository, options: PullOptions): Pull
  addIssue(repository: Repository): number
  addDiscussion(repository: Repository): number
  /** Adds a comment to the conversation of an issue or a pull request. */
  addComment(repository: Repository, number: number, login: string, body: string): StoredComment
  /** Adds a review comment to a changed line, or a reply to the review comment `root`. */
  addReviewComment(repository: Repository, number: number, login: string, body: string, root?: number): StoredComment
  /** Adds a comment to a discussion, or a reply to the comment `root`. */
  addDiscussionComment(
    repository: Repository,
    number: number,
    login: string,
    body: string,
    root?: number,
  ): StoredComment
  editComment(comment: StoredComment, login: string, body: string): void
  deleteComment(comment: StoredComment, login: string): void
  issueToken(options: TokenOptions): string
  revokeToken(token: string): void
}

/** The numbers of the bot that jobs write as, on github.com. */
const actionsBot = { login: 'github-actions[bot]', id: 41_898_282 }

export function makeFixtures(state: GitHubState): Fixtures {
  const say = (kind: StoredComment['kind'], place: { repository: Repository; number: number; root?: number }) => {
    return (login: string, body: string) =>
      writeComment(state, { kind, ...place, author: ensureUser(state, login), body })
  }
  return {
    addUser: (login, options) => ensureUser(state, login, options),
    addRepository: (options) => addRepository(state, options),
    addPull: (repository, options) => addPull(state, repository, options),
    addIssue: (repository) => {
      const number = freeNumber(repository)
      repository.issues.add(number)
      return number
    },
    addDiscussion: (repository) => {
      const number = freeNumber(repository)
      repository.discussions.add(number)
      return number
    },
    addComment: (repository, number, login, body) => say('issue', { repository, number })(login, body),
    addReviewComment: (repository, number, login, body, root) =>
      say('review', { repository, number, ...(root === undefined ? {} : { root }) })(login, body),
    addDiscussionComment: (repository, number, login, body, root) =>
      say('discussion', { repository, number, ...(root === undefined ? {} : { root }) })(login, body),
    editComment: (comment, login, body) => editComment(comment, ensureUser(state, login), body),
    deleteComment: (comment, login) => removeComment(comment, ensureUser(state, login)),
    issueToken: (options) => issueToken(state, options),
    revokeToken: (token) => {
      const known = state.tokens.get(token)
      if (known) known.revoked = true
    },
  }
}

function addRepository(state: GitHubState, options: RepositoryOptions): Repository {
  const [owner = '', name = ''] = options.name.split('/')
  const repository: Repository = {
    id: options.id ?? state.nextId(),
    owner: ensureUser(state, owner),
    name,
    private: options.private ?? false,
    defaultBranch: options.defaultBranch ?? 'main',
    collaborators: new Map(
      Object.entries(options.collaborators ?? {}).map(([login, role]) => [caseFoldedName(login), role]),
    ),
    branches: new Map(Object.entries(options.branches ?? {})),
    pulls: new Map(),
    issues: new Set(),
    discussions: new Set(),
    ...(options.directory === undefined ? {} : { directory: options.directory }),
    ...(options.app ? { installation: state.nextId() } : {}),
  }
  for (const login of Object.keys(options.collaborators ?? {})) ensureUser(state, login)
  state.repositories.set(caseFoldedName(fullNameOf(repository)), repository)
  return repository
}

function addPull(state: GitHubState, repository: Repository, options: PullOptions): Pull {
  const { ref, sha } = options.head
  const pull: Pull = {
    number: options.number ?? freeNumber(repository),
    author: ensureUser(state, options.author ?? 'octocat'),
    state: 'open',
    locked: false,
    head: { ref, sha, repository: options.head.repository === undefined ? repository : options.head.repository },
    base: options.base ?? { ref: repository.defaultBranch, sha: '0'.repeat(40) },
  }
  repository.pulls.set(pull.number, pull)
  return pull
}

function freeNumber(repository: Repository): number {
  return Math.max(0, ...repository.pulls.keys(), ...repository.issues, ...repository.discussions) + 1
}

function issueToken(state: GitHubState, options: TokenOptions): string {
  const installation = options.login === undefined
  const user = installation
    ? ensureUser(state, actionsBot.login, { id: actionsBot.id, type: 'Bot' })
    : ensureUser(state, options.login!)
  const secret = `${installation ? 'ghs_' : 'github_pat_'}${randomBytes(27).toString('base64url')}`
  state.tokens.set(secret, {
    user,
    installation,
    permissions: { metadata: 'read', ...options.permissions },
    repositories: options.repositories ? new Set(options.repositories.map((one) => one.id)) : null,
  })
  return secret
}
