// Who is asking, what they may see, and what their token may do.
import { json, type Reply } from '../faulty-server.js'
import { errorReply, forbidden, notFound, type RequestContext } from './request-context.js'
import type { GitHubState, Grant, PermissionName, Repository, Token } from './state.js'

/** Any one of them is enough. */
export type RequiredPermissions = { permission: PermissionName; grant: Grant }[]

export function authenticate(state: GitHubState, header: string | undefined): Token | Reply {
  const secret = /^(?:bearer|token) (\S+)$/i.exec(header ?? '')?.[1]
  if (secret === undefined) return errorReply(401, 'Requires authentication')
  const token = state.tokens.get(secret)
  const dead = token?.revoked || (token?.expiresAt !== undefined && token.expiresAt <= Date.now())
  return token && !dead ? token : errorReply(401, 'Bad credentials')
}

/** Private repositories do not exist for those who may not see them. */
export function canRead(token: Token, repository: Repository): boolean {
  return !repository.private || coversRepository(token, repository)
}

function coversRepository(token: Token, repository: Repository): boolean {
  if (token.forApp && repository.installation === undefined) return false
  if (token.repositories !== null && !token.repositories.has(repository.id)) return false
  return token.installation || isMember(token, repository)
}

function isMember(token: Token, repository: Repository): boolean {
  return repository.owner === token.user || repository.collaborators.has(token.user.login.toLowerCase())
}

/** What is public may be read by everyone; anything else needs the permission, as the token has it for this repository. */
export function checkPermissions(context: RequestContext, need: RequiredPermissions): Reply | null {
  const { token, repository } = context
  const suspended = token.forApp && repository.private && repository.suspended
  if (suspended && canRead(token, repository)) return errorReply(403, 'This installation has been suspended')
  if (!canRead(token, repository)) return notFound()
  const readable = !repository.private && need.every(({ grant }) => grant === 'read')
  if (readable || need.length === 0) return null
  const allowed = need.some((one) => hasPermission(token, repository, one))
  return allowed ? null : forbidden(need.map(({ permission, grant }) => `${permission}=${grant}`).join('; '))
}

export function hasPermission(
  token: Token,
  repository: Repository,
  { permission, grant }: RequiredPermissions[number],
): boolean {
  return coversRepository(token, repository) && has(token, permission, grant)
}

function has(token: Token, permission: PermissionName, grant: Grant): boolean {
  const given = token.permissions[permission]
  return given === 'write' || given === grant
}

export function identityReply(context: RequestContext): Reply {
  const { token } = context
  if (token.installation) return forbidden('')
  return json(200, token.user)
}

export function userReply(context: RequestContext): Reply {
  const user = context.state.users.get((context.parameters['login'] ?? '').toLowerCase())
  return user ? json(200, user) : notFound()
}
