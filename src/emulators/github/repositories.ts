// Repositories, branches, pull requests and who may do what.
import { json, type Reply } from '../faulty-server.js'
import { readRef } from './git-repository.js'
import { type Exchange, notFound } from './request-context.js'
import { fullNameOf, keyOf, type Pull, type Repository, type Role, type World } from './world.js'

export function repositoryReply({ world, repository, token }: Exchange): Reply {
  const role = roleOf(repository, token.user.login)?.base
  return json(200, { ...repositoryJson(world, repository), permissions: flagsOf(role) })
}

export function repositoryJson(world: World, repository: Repository) {
  const fullName = fullNameOf(repository)
  return {
    id: repository.id,
    name: repository.name,
    full_name: fullName,
    owner: repository.owner,
    private: repository.private,
    fork: false,
    default_branch: repository.defaultBranch,
    html_url: `${world.serverUrl}/${fullName}`,
    clone_url: `${world.serverUrl}/${fullName}.git`,
  }
}

export async function referenceReply({ repository, parameters }: Exchange): Promise<Reply> {
  const ref = `refs/${parameters['rest']}`
  const sha = await shaOfRef(repository, ref)
  return sha === null ? notFound() : json(200, { ref, object: { type: 'commit', sha } })
}

async function shaOfRef(repository: Repository, ref: string): Promise<string | null> {
  const branch = ref.startsWith('refs/heads/') ? repository.branches.get(ref.slice(11)) : undefined
  if (branch !== undefined) return branch
  return repository.directory === undefined ? null : readRef(repository.directory, ref)
}

export function pullReply({ world, repository, parameters }: Exchange): Reply {
  const pull = repository.pulls.get(Number(parameters['number']))
  return pull ? json(200, pullJson(world, repository, pull)) : notFound()
}

export function pullJson(world: World, repository: Repository, pull: Pull) {
  const base = repositoryJson(world, repository)
  const head = pull.head.repository && {
    ...repositoryJson(world, pull.head.repository),
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

export function permissionReply({ world, repository, parameters }: Exchange): Reply {
  const user = world.users.get(keyOf(parameters['login'] ?? ''))
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
  if (keyOf(repository.owner.login) === keyOf(login)) return { name: 'admin', base: 'admin' }
  const role = repository.collaborators.get(keyOf(login))
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
