// The GitHub client, over plain fetch. Functions that must start quickly import it, so it loads no SDK.

import { HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Author, Call, CommentKey, GitHub } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import type * as read from '../../util/decode.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { withoutTrailingSlashes } from '../../util/text.js'
import { systemClock } from '../system-clock.js'
import { type AppCredentials, appTokenSource, staticTokenSource } from './app-auth.js'
import { type AuthorizedSend, ensureComment, type FetchIdentity, positiveInteger, restCalls } from './comments.js'
import { discussionCalls } from './discussions.js'
import { type Graphql, makeGraphql } from './graphql.js'
import { LostReply, sendRequest, type Transport } from './request.js'
import * as shapes from './responses.js'

export interface GitHubOptions {
  /** `https://api.github.com`, or `https://<host>/api/v3` of an Enterprise Server. */
  apiUrl: string
  /** `https://github.com`, for links. */
  serverUrl: string
  credentials: { token: string } | AppCredentials
  userAgent: string
  /** Called with a sentence before each retry and each wait. */
  onNotice?: (text: string) => void
  /** Maximum sum of a call's waits for rate limits; 90 s when absent. */
  maximumWaitMs?: number
  /** Timeout of one attempt; 20 s when absent. */
  attemptMs?: number
  clock?: Clock
}

export function makeGitHub(options: GitHubOptions): GitHub {
  const transport = makeTransport(options)
  const { credentials } = options
  const tokens = 'token' in credentials ? staticTokenSource(credentials.token) : appTokenSource(transport, credentials)

  const send: AuthorizedSend = async (repository, request, call) => {
    const token = await tokens.tokenFor(repository, call)
    try {
      return await sendRequest(transport, { ...request, token }, call)
    } catch (error) {
      // A cached token may have been revoked: request another, once.
      if (!isHandoffError(error, 'unauthorized') || !tokens.forget(repository, token)) throw error
      return sendRequest(transport, { ...request, token: await tokens.tokenFor(repository, call) }, call)
    }
  }

  const graphql = makeGraphql(transport.apiUrl, send)
  const identity = cacheIdentity(graphql, send)
  const conversation = conversationCalls(send, identity, graphql)
  const comments = { ...conversation, clock: transport.clock, onNotice: transport.onNotice }
  return {
    serverUrl: parseBaseUrl(options.serverUrl),
    identity,
    ...repositoryCalls(send),
    ...conversation,
    async createComment(...asked) {
      try {
        return await conversation.createComment(...asked)
      } catch (error) {
        throw error instanceof LostReply ? error.error : error
      }
    },
    ensureComment: (thread, wanted, call) => ensureComment(comments, thread, wanted, call),
  }
}

type ConversationCalls = Omit<GitHub, 'serverUrl' | 'identity' | 'ensureComment' | keyof RepositoryCalls>

/** Comments and reactions: GraphQL for discussions, the REST API for everything else. `createComment` may throw LostReply. */
function conversationCalls(send: AuthorizedSend, identity: FetchIdentity, graphql: Graphql): ConversationCalls {
  const rest = restCalls(send, identity)
  const discussions = discussionCalls(graphql)
  const callsFor = ({ kind }: CommentKey) => (kind === 'discussion' ? discussions : rest)
  return {
    ownComments: (thread, ...more) =>
      thread.kind === 'discussion' ? discussions.ownComments(thread, ...more) : rest.ownComments(thread, ...more),
    createComment: (thread, ...more) =>
      thread.kind === 'discussion' ? discussions.createComment(thread, ...more) : rest.createComment(thread, ...more),
    getComment: (key, ...more) => callsFor(key).getComment(key, ...more),
    updateComment: (key, ...more) => callsFor(key).updateComment(key, ...more),
    deleteComment: (key, ...more) => callsFor(key).deleteComment(key, ...more),
    addReaction: (key, ...more) => callsFor(key).addReaction(key, ...more),
    removeReactions: (key, ...more) => callsFor(key).removeReactions(key, ...more),
  }
}

export function makeTransport(options: Omit<GitHubOptions, 'serverUrl' | 'credentials'>): Transport {
  return {
    apiUrl: parseBaseUrl(options.apiUrl),
    userAgent: options.userAgent,
    clock: options.clock ?? systemClock,
    onNotice: options.onNotice ?? (() => {}),
    attemptMs: options.attemptMs ?? 20_000,
    maximumWaitMs: options.maximumWaitMs ?? 90_000,
  }
}

export function parseBaseUrl(text: string): string {
  if (parseHttpUrl(text)) return withoutTrailingSlashes(text)
  throw new HandoffError('invalid-input', 'The address of GitHub must be an http(s) address without credentials.', {
    next: 'Write it like https://api.github.com, or https://<host>/api/v3 for an Enterprise Server.',
  })
}

type RepositoryCalls = Pick<GitHub, 'repository' | 'pull' | 'branchHead' | 'permissionOf' | 'compare'>

function repositoryCalls(send: AuthorizedSend): RepositoryCalls {
  async function get<T>(repository: string, rest: string, decoder: read.Decoder<T>, doing: string, call: Call) {
    const path = `${shapes.repositoryPath(repository)}${rest}`
    const reply = await send(repository, { method: 'GET', path, doing, idempotent: true }, call)
    return shapes.decodeReply(reply, decoder, doing)
  }

  async function getOrNull<T>(
    repository: string,
    rest: string,
    decoder: read.Decoder<T>,
    doing: string,
    call: Call,
  ): Promise<T | null> {
    try {
      return await get(repository, rest, decoder, doing, call)
    } catch (error) {
      if (isHandoffError(error, 'not-found')) return null
      throw error
    }
  }

  return {
    repository: async (repository, call) => get(repository, '', shapes.repositoryFacts, `reading ${repository}`, call),

    pull: async (repository, number, call) =>
      get(
        repository,
        `/pulls/${positiveInteger(number)}`,
        shapes.pullFacts,
        `reading pull request ${number} of ${repository}`,
        call,
      ),

    async branchHead(repository, branch, call) {
      const segments = branch.split('/')
      if (segments.some((part) => /^\.{0,2}$/.test(part))) return null
      const path = `/git/ref/heads/${segments.map(encodeURIComponent).join('/')}`
      const found = await getOrNull(repository, path, shapes.reference, `reading a branch of ${repository}`, call)
      return found?.object.sha ?? null
    },

    async permissionOf(repository, login, call) {
      const noPermission = { level: 'none', roleName: 'none', user: null } as const
      // GitHub allows no other characters; the name of a bot ends in [bot].
      if (!/^[A-Za-z0-9_-]{1,100}(\[bot\])?$/.test(login)) return noPermission
      const path = `/collaborators/${encodeURIComponent(login)}/permission`
      const doing = `reading what ${login} may do in ${repository}`
      return (await getOrNull(repository, path, shapes.permission, doing, call)) ?? noPermission
    },

    compare: async (repository, base, head, call) =>
      getOrNull(
        repository,
        `/compare/${encodeURIComponent(base)}...${encodeURIComponent(head)}?per_page=1`,
        shapes.comparison,
        `comparing two commits of ${repository}`,
        call,
      ),
  }
}

/**
 * GraphQL's `viewer` works with every kind of token; `GET /user` refuses those of Apps and of Actions. Cached: all tokens of one App have the same
 * author.
 */
function cacheIdentity(graphql: Graphql, send: AuthorizedSend): GitHub['identity'] {
  let known: Author | undefined
  return async (repository, call) => {
    known ??= await fetchViewer(graphql, send, repository, call)
    return known
  }
}

async function fetchViewer(graphql: Graphql, send: AuthorizedSend, repository: string, call: Call): Promise<Author> {
  const doing = 'reading the author of our comments'
  const operation = { document: 'query { viewer { login databaseId } }', shape: shapes.viewer, doing, idempotent: true }
  const data = await graphql(repository, operation, call)
  if (data === null) throw new HandoffError('git', 'GitHub does not name the owner of the token.')
  const { viewer } = data
  if (viewer.databaseId !== null) {
    return { login: viewer.login, id: viewer.databaseId, type: viewer.login.endsWith('[bot]') ? 'Bot' : 'User' }
  }
  const user = `/users/${encodeURIComponent(viewer.login)}`
  return shapes.decodeReply(
    await send(repository, { method: 'GET', path: user, doing, idempotent: true }, call),
    shapes.plainUser,
    doing,
  )
}
