// The table of everything the local GitHub imitates. A request that GitHub has and this table has not is answered 501 and remembered.
import type { Reply } from '../faulty-server.js'
import { type App, accessTokenReply, installationReply } from './apps.js'
import * as comments from './comments.js'
import { graphqlReply } from './discussions.js'
import { compareReply } from './git-repository.js'
import { identityReply, type RequiredPermissions, userReply } from './permissions.js'
import * as repositories from './repositories.js'
import type { RequestContext } from './request-context.js'
import { checkTokenReply, revokeTokenReply, type UserFlow } from './user-flow.js'

export interface Route {
  method: string
  /** `:name` stands for one segment, `*` (as `rest`) for all that is left. */
  path: string
  /** Whose authorization it takes: a token's, the App's own, or that of the App's client id and secret. */
  by?: 'token' | 'app' | 'client'
  need?: (context: RequestContext) => RequiredPermissions
  answer: (context: RequestContext) => Reply | Promise<Reply>
}

const reads = (permission: 'contents' | 'pull_requests' | 'metadata') => (): RequiredPermissions => [
  { permission, grant: 'read' },
]
const reviewRead = (): RequiredPermissions => [{ permission: 'pull_requests', grant: 'read' }]
const reviewWrite = (): RequiredPermissions => [{ permission: 'pull_requests', grant: 'write' }]
const talkRead = (context: RequestContext) => comments.conversationPermissions(context, 'read')
const talkWrite = (context: RequestContext) => comments.conversationPermissions(context, 'write')

export function routes(app: App, flow: UserFlow): Route[] {
  const token = { path: '/applications/:id/token', by: 'client' } as const
  return [
    { method: 'POST', ...token, answer: checkTokenReply(flow) },
    { method: 'DELETE', ...token, answer: revokeTokenReply(flow) },
    { method: 'GET', path: '/user', answer: identityReply },
    { method: 'GET', path: '/users/:login', answer: userReply },
    { method: 'POST', path: '/graphql', answer: graphqlReply },
    { method: 'GET', path: '/repos/:owner/:name/installation', by: 'app', answer: installationReply },
    { method: 'POST', path: '/app/installations/:id/access_tokens', by: 'app', answer: accessTokenReply(app) },
    ...repositoryRoutes,
    ...commentRoutes('issue', 'issues', talkRead, talkWrite),
    ...commentRoutes('review', 'pulls', reviewRead, reviewWrite),
    ...threadRoutes,
  ]
}

const at = (rest: string) => `/repos/:owner/:name${rest}`

const repositoryRoutes: Route[] = [
  { method: 'GET', path: at(''), need: reads('metadata'), answer: repositories.repositoryReply },
  { method: 'GET', path: at('/git/ref/*'), need: reads('contents'), answer: repositories.referenceReply },
  { method: 'GET', path: at('/compare/*'), need: reads('contents'), answer: compareReply },
  { method: 'GET', path: at('/pulls/:number'), need: reads('pull_requests'), answer: repositories.pullReply },
  {
    method: 'GET',
    path: at('/collaborators/:login/permission'),
    need: reads('metadata'),
    answer: repositories.permissionReply,
  },
]

const threadRoutes: Route[] = [
  { method: 'GET', path: at('/issues/:number/comments'), need: talkRead, answer: comments.listConversation },
  { method: 'POST', path: at('/issues/:number/comments'), need: talkWrite, answer: comments.createInConversation },
  { method: 'GET', path: at('/pulls/:number/comments'), need: reviewRead, answer: comments.listReviews },
  {
    method: 'POST',
    path: at('/pulls/:number/comments/:id/replies'),
    need: reviewWrite,
    answer: comments.replyInReview,
  },
]

function commentRoutes(
  kind: 'issue' | 'review',
  folder: string,
  read: (context: RequestContext) => RequiredPermissions,
  write: (context: RequestContext) => RequiredPermissions,
): Route[] {
  const one = at(`/${folder}/comments/:id`)
  return [
    { method: 'GET', path: one, need: read, answer: comments.getComment(kind) },
    { method: 'PATCH', path: one, need: write, answer: comments.updateComment(kind) },
    { method: 'DELETE', path: one, need: write, answer: comments.deleteComment(kind) },
    { method: 'GET', path: `${one}/reactions`, need: read, answer: comments.listReactions(kind) },
    { method: 'POST', path: `${one}/reactions`, need: write, answer: comments.addReaction(kind) },
    { method: 'DELETE', path: `${one}/reactions/:reaction`, need: write, answer: comments.removeReaction(kind) },
  ]
}

/** The route that a request takes, and the named parts of its path. */
export function findRoute(table: Route[], method: string, path: string) {
  for (const route of table) {
    if (route.method !== method) continue
    const parameters = matchPath(route.path, path)
    if (parameters) return { route, parameters }
  }
  return null
}

function matchPath(template: string, path: string): Record<string, string> | null {
  const wanted = template.split('/')
  const given = path.split('/')
  const open = wanted.at(-1) === '*'
  if (open ? given.length < wanted.length : given.length !== wanted.length) return null
  const parameters: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    if (part === '*') parameters['rest'] = given.slice(index).map(decodeURIComponent).join('/')
    else if (part.startsWith(':')) parameters[part.slice(1)] = decodeURIComponent(given[index]!)
    else if (part !== given[index]) return null
  }
  return parameters
}
