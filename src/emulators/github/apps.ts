// The GitHub App: knows itself by a signed JSON Web Token, finds its installation in a repository, and buys tokens for it.
import { type KeyObject, randomBytes, verify } from 'node:crypto'
import { json, type Reply } from '../faulty-server.js'
import { errorReply, notFound, type RequestContext } from './request-context.js'
import {
  caseFoldedName,
  type GitHubState,
  type Grant,
  type PermissionName,
  type Repository,
  type User,
} from './state.js'

export interface App {
  id: string
  slug: string
  /** PEM, as GitHub hands it out. */
  readonly privateKey: string
  readonly publicKey: KeyObject
  bot: User
  permissions: Partial<Record<PermissionName, Grant>>
}

const longestLife = 600
/** GitHub forgives clocks this much. */
const skew = 60

/** Null when the token is one that the App signed, else what GitHub says. */
export function verifyAppJwt(app: App, header: string | undefined): Reply | null {
  const jwt = /^bearer (\S+)$/i.exec(header ?? '')?.[1]
  const parts = jwt?.split('.') ?? []
  if (parts.length !== 3) return errorReply(401, 'A JSON web token could not be decoded')
  const [head, body] = parts.slice(0, 2).map(decodePart)
  const signed = Buffer.from(parts.slice(0, 2).join('.'))
  const good = verify('RSA-SHA256', signed, app.publicKey, Buffer.from(parts[2]!, 'base64url'))
  if (!good || head?.['alg'] !== 'RS256') return errorReply(401, 'A JSON web token could not be decoded')
  const now = Date.now() / 1_000
  const issued = Number(body?.['iat'])
  const expires = Number(body?.['exp'])
  if (!(issued <= now + skew))
    return errorReply(401, "'Issued at' claim ('iat') must be an Integer representing the past")
  if (!(expires > now) || expires - now > longestLife + skew) {
    return errorReply(401, "'Expiration time' claim ('exp') must be a numeric value representing the future time")
  }
  return String(body?.['iss']) === app.id ? null : errorReply(404, 'Integration not found')
}

function decodePart(part: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  } catch {
    return undefined
  }
}

export function installationReply({ repository }: RequestContext): Reply {
  if (repository.installation === undefined) return notFound()
  return json(200, { id: repository.installation, account: repository.owner })
}

export const accessTokenReply = (app: App) => (context: RequestContext) => {
  const { state, parameters, body } = context
  const installed = [...state.repositories.values()].filter((one) => one.installation === Number(parameters['id']))
  if (installed.length === 0) return notFound()
  const chosen = selectRepositories(installed, body['repositories'])
  if (!chosen) {
    return errorReply(
      422,
      'There is at least one repository that does not exist or is not accessible to the parent installation.',
    )
  }
  const permissions = (body['permissions'] as App['permissions'] | undefined) ?? app.permissions
  if (!allPermitted(app.permissions, permissions)) {
    return errorReply(422, 'The permissions requested are not granted to this installation.')
  }
  return json(201, issueInstallationToken(state, app, chosen, permissions))
}

function issueInstallationToken(
  state: GitHubState,
  app: App,
  repositories: Repository[],
  permissions: App['permissions'],
) {
  const token = `ghs_${randomBytes(27).toString('base64url')}`
  const expiresAt = Date.now() + 3_600_000
  state.tokens.set(token, {
    user: app.bot,
    installation: true,
    permissions: { metadata: 'read', ...permissions },
    repositories: new Set(repositories.map((one) => one.id)),
    expiresAt,
  })
  return { token, expires_at: new Date(expiresAt).toISOString(), permissions, repository_selection: 'selected' }
}

function selectRepositories(installed: Repository[], names: unknown): Repository[] | null {
  if (!Array.isArray(names)) return installed
  const chosen = installed.filter((one) =>
    names.some((name) => caseFoldedName(String(name)) === caseFoldedName(one.name)),
  )
  return chosen.length === names.length ? chosen : null
}

function allPermitted(given: App['permissions'], wanted: App['permissions']): boolean {
  return Object.entries(wanted).every(([name, grant]) => {
    const has = given[name as PermissionName]
    return has === 'write' || has === grant
  })
}
