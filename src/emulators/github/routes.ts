// The table of everything the local GitHub imitates. A request that GitHub has and this table has not is answered 501 and remembered.
import type { Reply } from '../faulty-server.js'
import { type App, accessTokenReply, installationReply } from './apps.js'
import * as comments from './comments.js'
import { graphqlReply } from './discussions.js'
import { compareReply } from './git-repository.js'
import { identityReply, type Need, userReply } from './permissions.js'
import * as repositories from './repositories.js'
import type { Exchange } from './request-context.js'

export interface Route {
  method: string
  /** `:name` stands for one segment, `*` (as `rest`) for all that is left. */
  path: string
  /** Whose authorization it takes: a token's, or the App's own. */
  by?: 'token' | 'app'
  need?: (exchange: Exchange) => Need
  answer: (exchange: Exchange) => Reply | Promise<Reply>
}

const reads = (permission: 'contents' | 'pull_requests' | 'metadata') => (): Need => [{ permission, grant: 'read' }]
const reviewRead = (): Need => [{ permission: 'pull_requests', grant: 'read' }]
const reviewWrite = (): Need => [{ permission: 'pull_requests', grant: 'write' }]
const talkRead = (exchange: Exchange) => comments.conversationNeed(exchange, 'read')
const talkWrite = (exchange: Exchange) => comments.conversationNeed(exchange, 'write')

export function routes(app: App): Route[] {
  return [
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
  read: (exchange: Exchange) => Need,
  write: (exchange: Exchange) => Need,
): Route[] {
  const one = at(`/${folder}/comments/:id`)
  return [
    { method: 'GET', path: one, need: read, answer: comments.oneComment(kind) },
    { method: 'PATCH', path: one, need: write, answer: comments.changeComment(kind) },
    { method: 'DELETE', path: one, need: write, answer: comments.dropComment(kind) },
    { method: 'GET', path: `${one}/reactions`, need: read, answer: comments.listReactions(kind) },
    { method: 'POST', path: `${one}/reactions`, need: write, answer: comments.react(kind) },
    { method: 'DELETE', path: `${one}/reactions/:reaction`, need: write, answer: comments.unreact(kind) },
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
