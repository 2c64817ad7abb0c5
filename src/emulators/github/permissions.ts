// Who is asking, what they may see, and what their token may do.
import { json, type Reply } from '../faulty-server.js'
import { type Exchange, notAllowed, notFound, problem } from './request-context.js'
import type { Grant, PermissionName, Repository, Token, World } from './world.js'

/** Any one of them is enough. */
export type Need = { permission: PermissionName; grant: Grant }[]

export function tokenOf(world: World, header: string | undefined): Token | Reply {
  const secret = /^(?:bearer|token) (\S+)$/i.exec(header ?? '')?.[1]
  if (secret === undefined) return problem(401, 'Requires authentication')
  const token = world.tokens.get(secret)
  const dead = token?.revoked || (token?.expiresAt !== undefined && token.expiresAt <= Date.now())
  return token && !dead ? token : problem(401, 'Bad credentials')
}

/** Private repositories do not exist for those who may not see them. */
export function maySee(token: Token, repository: Repository): boolean {
  return !repository.private || reaches(token, repository)
}

function reaches(token: Token, repository: Repository): boolean {
  if (token.repositories !== null && !token.repositories.has(repository.id)) return false
  return token.installation || isMember(token, repository)
}

function isMember(token: Token, repository: Repository): boolean {
  return repository.owner === token.user || repository.collaborators.has(token.user.login.toLowerCase())
}

/** What is public may be read by everyone; anything else needs the permission, as the token has it for this repository. */
export function refuse(exchange: Exchange, need: Need): Reply | null {
  const { token, repository } = exchange
  if (!maySee(token, repository)) return notFound()
  const readable = !repository.private && need.every(({ grant }) => grant === 'read')
  if (readable || need.length === 0) return null
  const allowed = need.some((one) => mayUse(token, repository, one))
  return allowed ? null : notAllowed(need.map(({ permission, grant }) => `${permission}=${grant}`).join('; '))
}

export function mayUse(token: Token, repository: Repository, { permission, grant }: Need[number]): boolean {
  return reaches(token, repository) && has(token, permission, grant)
}

function has(token: Token, permission: PermissionName, grant: Grant): boolean {
  const given = token.permissions[permission]
  return given === 'write' || given === grant
}

export function identityReply(exchange: Exchange): Reply {
  const { token } = exchange
  if (token.installation) return notAllowed('')
  return json(200, token.user)
}

export function userReply(exchange: Exchange): Reply {
  const user = exchange.world.users.get((exchange.parameters['login'] ?? '').toLowerCase())
  return user ? json(200, user) : notFound()
}
