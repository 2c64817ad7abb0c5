// Repositories, branches, pull requests and who may do what.
import { json, type Reply } from '../faulty-server.js'
import { readRef } from './git-repository.js'
import { notFound, type RequestContext } from './request-context.js'
import { caseFoldedName, fullNameOf, type GitHubState, type Pull, type Repository, type Role } from './state.js'

export function repositoryReply({ state, repository, token }: RequestContext): Reply {
  const role = roleOf(repository, token.user.login)?.base
  return json(200, { ...repositoryJson(state, repository), permissions: flagsOf(role) })
}

export function repositoryJson(state: GitHubState, repository: Repository) {
  const fullName = fullNameOf(repository)
  return {
    id: repository.id,
    name: repository.name,
    full_name: fullName,
    owner: repository.owner,
    private: repository.private,
    fork: false,
    default_branch: repository.defaultBranch,
    html_url: `${state.serverUrl}/${fullName}`,
    clone_url: `${state.serverUrl}/${fullName}.git`,
  }
}

export async function referenceReply({ repository, parameters }: RequestContext): Promise<Reply> {
  const ref = `refs/${parameters['rest']}`
  const sha = await shaOfRef(repository, ref)
  return sha === null ? notFound() : json(200, { ref, object: { type: 'commit', sha } })
}

async function shaOfRef(repository: Repository, ref: string): Promise<string | null> {
  const branch = ref.startsWith('refs/heads/') ? repository.branches.get(ref.slice(11)) : undefined
  if (branch !== undefined) return branch
  return repository.directory === undefined ? null : readRef(repository.directory, ref)
}

export function pullReply({ state, repository, parameters }: RequestContext): Reply {
  const pull = repository.pulls.get(Number(parameters['number']))
  return pull ? json(200, pullJson(state, repository, pull)) : notFound()
}

export function pullJson(state: GitHubState, repository: Repository, pull: Pull) {
  const base = repositoryJson(state, repository)
  const head = pull.head.repository && {
    ...repositoryJson(state, pull.head.repository),
    fork: pull.head.repository !== repository,
  }
  return {
    number: pull.number,
    state: pull.state,
    locked: pull.locked,
    user: pull.author,
    html_url: `${base.html_url}/pull/${pull.number}`,
    head: { ref: pull.head.ref, sha: pull.head.sha, repo: head, user: pull.author },
    base: { ref: pull.base.ref, sha: pull.base.sha, repo: base, user: repository.owner },
  }
}

export function permissionReply({ state, repository, parameters }: RequestContext): Reply {
  const user = state.users.get(caseFoldedName(parameters['login'] ?? ''))
  if (!user) return notFound()
  const role = roleOf(repository, user.login)
  const level = role?.base ?? (repository.private ? undefined : 'read')
  return json(200, {
    permission: legacyLevel(level),
    role_name: role?.name ?? level ?? 'none',
    user: { ...user, permissions: flagsOf(level) },
  })
}

function roleOf(repository: Repository, login: string): { name: string; base: Role } | undefined {
  if (caseFoldedName(repository.owner.login) === caseFoldedName(login)) return { name: 'admin', base: 'admin' }
  const role = repository.collaborators.get(caseFoldedName(login))
  return typeof role === 'string' ? { name: role, base: role } : role
}

/** The older of GitHub's two ways to say it has four words. */
function legacyLevel(role: Role | undefined): string {
  if (role === 'maintain') return 'write'
  if (role === 'triage') return 'read'
  return role ?? 'none'
}

function flagsOf(role: Role | undefined) {
  const order: Role[] = ['read', 'triage', 'write', 'maintain', 'admin']
  const level = role === undefined ? -1 : order.indexOf(role)
  return { pull: level >= 0, triage: level >= 1, push: level >= 2, maintain: level >= 3, admin: level >= 4 }
}
