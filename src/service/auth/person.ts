// A person as a caller: signed in with a session cookie, or with a token that GitHub issued to this App.
import type { App } from '../app.js'
import { HttpError } from '../http/problem-details.js'
import type { ServiceSettings } from '../settings.js'
import type { Caller } from './caller.js'
import { type RepositoryAccess, sessionExpired } from './repository-access.js'
import { openCookie, readCookie } from './session.js'

type SignInSettings = NonNullable<ServiceSettings['signIn']>

/** Undefined where the request has no session of this deployment. */
export async function callerOfSession(
  request: Request,
  app: Pick<App, 'settings' | 'signIn'>,
): Promise<Caller | undefined> {
  const { signIn } = app.settings
  const url = new URL(request.url)
  const cookie = readCookie('session', request, url)
  if (signIn === undefined || cookie === undefined) return undefined
  const session = await openCookie('session', cookie, { origin: url.origin, secret: signIn.sessionSecret })
  if (session === undefined) return undefined
  refuseForeignOrigin(request, url)
  const { user, tokens } = session
  if ((tokens.accessUntil ?? Infinity) <= Date.now()) throw sessionExpired()
  const { access } = await app.signIn()
  return personOf(user.id, tokens.access, access, signIn)
}

/** For clients of MCP and others that hold a token of GitHub. A token that another App got from the person is refused. */
export async function callerOfToken(token: string, app: Pick<App, 'signIn'>, signIn: SignInSettings): Promise<Caller> {
  const { access } = await app.signIn()
  const { id } = await access.ownerOf(token, AbortSignal.timeout(10_000))
  return personOf(id, token, access, signIn)
}

function personOf(id: number, token: string, access: RepositoryAccess, { repositories }: SignInSettings): Caller {
  return {
    way: 'person',
    name: `person:${id}`,
    repositories,
    mayComment: false,
    repositoryId: (repository, signal) => access.idOf(token, repository, signal),
  }
}

/** A browser sends the cookie by itself: a page of another origin must not act with it. Browsers name the origin of whatever is not a plain GET. */
export function refuseForeignOrigin(request: Request, url: URL): void {
  const site = request.headers.get('sec-fetch-site') ?? 'none'
  const origin = request.headers.get('origin')
  const reads = request.method === 'GET' || request.method === 'HEAD'
  const own = origin === url.origin || (origin === null && reads)
  if (own && (site === 'none' || site === 'same-origin')) return
  throw new HttpError(403, 'forbidden', 'A page of another origin may not act with this session.', {
    next: 'Ask from a page of this service, or send a token in the Authorization header.',
  })
}
