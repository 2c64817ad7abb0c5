// Decoders of GitHub's replies. They check only the fields that we read.

import { HandoffError } from '../../domain/errors.js'
import type {
  Author,
  ChangedFile,
  Comment,
  Comparison,
  Permission,
  PermissionLevel,
  PullFacts,
  PullSide,
  RepositoryFacts,
  Thread,
} from '../../domain/github.js'
import { parseRepository } from '../../domain/run.js'
import * as read from '../../util/decode.js'
import type { Reply } from './request.js'

export function decodeReply<T>(reply: Reply, decoder: read.Decoder<T>, doing: string): T {
  try {
    return decoder(reply.body, '')
  } catch (error) {
    const reason = error instanceof read.DecodeError ? error.message : 'it cannot be read'
    throw new HandoffError('git', `GitHub's reply while ${doing} has an unexpected form: ${reason}.`, {
      next: 'Check that the address is that of a GitHub API.',
    })
  }
}

/** `/repos/owner/name`. Refuses names that would change the path. */
export function repositoryPath(repository: string): string {
  const { owner, name } = parseRepository(repository, 'github.com')
  if (!owner.includes('/')) return `/repos/${owner}/${name}`
  throw new HandoffError('invalid-input', 'A repository on GitHub is written as owner/name.')
}

const user = read.object({ login: read.string(200), id: read.count, type: read.optional(read.string(100)) })

// GitHub returns null for a deleted user. Id 0 equals no other author.
const author: read.Decoder<Author> = (value, at) => {
  const found = read.nullable(user)(value, at)
  return found ? { login: found.login, id: found.id, type: found.type ?? 'User' } : { login: '', id: 0, type: 'User' }
}

const repositoryShape = read.object({
  id: read.count,
  full_name: read.string(300),
  default_branch: read.string(1_000),
  private: read.boolean,
  owner: user,
})

export const repositoryFacts: read.Decoder<RepositoryFacts> = (value, at) => {
  const found = repositoryShape(value, at)
  return {
    id: found.id,
    ownerId: found.owner.id,
    fullName: found.full_name,
    defaultBranch: found.default_branch,
    private: found.private,
  }
}

const side = read.object({
  ref: read.string(1_000),
  sha: read.objectId,
  repo: read.nullable(read.object({ id: read.count, full_name: read.string(300), private: read.boolean })),
})

const pullShape = read.object({
  number: read.count,
  state: read.oneOf('open', 'closed'),
  user: author,
  head: side,
  base: side,
})

export const pullFacts: read.Decoder<PullFacts> = (value, at) => {
  const found = pullShape(value, at)
  return {
    number: found.number,
    state: found.state,
    author: found.user,
    head: pullSide(found.head),
    base: pullSide(found.base),
    fork: found.head.repo === null || found.head.repo.id !== found.base.repo?.id,
  }
}

function pullSide(found: ReturnType<typeof side>): PullSide {
  const { repo } = found
  return {
    ref: found.ref,
    sha: found.sha,
    repository: repo ? { id: repo.id, fullName: repo.full_name, private: repo.private } : null,
  }
}

export const reference = read.object({ object: read.object({ sha: read.objectId, type: read.string(20) }) })

const flags = read.object({
  admin: read.optional(read.boolean),
  maintain: read.optional(read.boolean),
  push: read.optional(read.boolean),
  triage: read.optional(read.boolean),
  pull: read.optional(read.boolean),
})

const permissionShape = read.object({
  permission: read.string(100),
  role_name: read.optional(read.string(200)),
  user: read.nullable(
    read.object({
      login: read.string(200),
      id: read.count,
      type: read.optional(read.string(100)),
      permissions: read.optional(flags),
    }),
  ),
})

// `permission` has four levels: it reports maintain as write, and triage as read. A custom role shows its base in the flags.
const byRole: Record<string, PermissionLevel> = {
  admin: 'admin',
  maintain: 'maintain',
  write: 'write',
  triage: 'triage',
  read: 'read',
  none: 'none',
}

export const permission: read.Decoder<Permission> = (value, at) => {
  const found = permissionShape(value, at)
  const roleName = found.role_name ?? found.permission
  const level = own(byRole, roleName) ?? byFlags(found.user?.permissions) ?? own(byRole, found.permission) ?? 'none'
  return { level, roleName, user: found.user ? author(found.user, at) : null }
}

const own = (table: Record<string, PermissionLevel>, key: string) =>
  Object.hasOwn(table, key) ? table[key] : undefined

function byFlags(found: ReturnType<typeof flags> | undefined): PermissionLevel | undefined {
  if (!found) return undefined
  if (found.admin) return 'admin'
  if (found.maintain) return 'maintain'
  if (found.push) return 'write'
  if (found.triage) return 'triage'
  return found.pull ? 'read' : 'none'
}

const commentShape = read.object({
  id: read.count,
  body: read.nullable(read.string(10_000_000)),
  user: author,
  html_url: read.string(10_000),
  created_at: read.string(40),
  updated_at: read.string(40),
  in_reply_to_id: read.optional(read.nullable(read.count)),
})

export function comment(kind: Thread['kind'], repository: string): read.Decoder<Comment> {
  return (value, at) => {
    const found = commentShape(value, at)
    return {
      kind,
      repository,
      id: found.id,
      body: found.body ?? '',
      author: found.user,
      url: found.html_url,
      createdAt: found.created_at,
      updatedAt: found.updated_at,
      ...(found.in_reply_to_id ? { root: found.in_reply_to_id } : {}),
    }
  }
}

export const reactions = read.array(read.object({ id: read.count, content: read.string(50), user: author }), 1_000)

const fileShape = read.object({
  filename: read.string(10_000),
  previous_filename: read.optional(read.string(10_000)),
  status: read.string(50),
  sha: read.nullable(read.string(100)),
  changes: read.optional(read.count),
  patch: read.optional(read.string(50_000_000)),
})

const comparisonShape = read.object({
  status: read.oneOf('identical', 'ahead', 'behind', 'diverged'),
  merge_base_commit: read.object({ sha: read.objectId }),
  files: read.optional(read.array(fileShape)),
})

const filesShown = 300

export const comparison: read.Decoder<Comparison> = (value, at) => {
  const found = comparisonShape(value, at)
  const files = (found.files ?? []).map(changedFile)
  return {
    status: found.status,
    mergeBase: found.merge_base_commit.sha,
    files,
    complete: found.files !== undefined && files.length < filesShown,
  }
}

function changedFile(found: ReturnType<typeof fileShape>): ChangedFile {
  // GitHub sends no patch for a file that only moved.
  const patch = found.patch ?? (found.status === 'renamed' && found.changes === 0 ? '' : undefined)
  return {
    path: found.filename,
    status: found.status,
    // For a removed file GitHub sends its last blob.
    blob: found.status === 'removed' ? null : found.sha,
    previousPath: found.previous_filename,
    patch,
  }
}

export const viewer = read.object({
  viewer: read.object({ login: read.string(200), databaseId: read.nullable(read.count) }),
})

export const plainUser: read.Decoder<Author> = (value, at) => {
  const found = user(value, at)
  return { login: found.login, id: found.id, type: found.type ?? 'User' }
}
