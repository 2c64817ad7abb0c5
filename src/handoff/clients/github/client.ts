// GitHub by plain fetch. The functions that must start quickly import this, so nothing here loads an SDK.

import { HandoffError, isHandoffError } from '../../domain/errors.js'
import type { Author, Call, CommentKey, GitHub } from '../../domain/github.js'
import type { Clock } from '../../domain/ports.js'
import type * as read from '../../util/decode.js'
import { parseHttpUrl } from '../../util/http-url.js'
import { systemClock } from '../system-clock.js'
import { type AppCredentials, appTokens, staticTokens } from './app-auth.js'
import { type Ask, commentCalls, type Identity, whole } from './comments.js'
import { discussionCalls } from './discussions.js'
import { ensureComment } from './ensure-comment.js'
import { type Graphql, makeGraphql } from './graphql.js'
import { reactionCalls } from './reactions.js'
import { LostReply, send, type Wire } from './request.js'
import * as shapes from './responses.js'

export interface GitHubOptions {
  /** `https://api.github.com`, or `https://<host>/api/v3` of an Enterprise Server. */
  apiUrl: string
  /** `https://github.com`: where links lead. */
  serverUrl: string
  credentials: { token: string } | AppCredentials
  userAgent: string
  /** Told, in a sentence, when something is repeated or waited for. */
  onNotice?: (text: string) => void
  /** Longest that one call waits because GitHub limits us; 90 s when absent. */
  maximumWaitMs?: number
  /** For one attempt of a request; 20 s when absent. */
  attemptMs?: number
  clock?: Clock
  /** For those behind a proxy. */
  fetch?: typeof fetch
}

export function makeGitHub(options: GitHubOptions): GitHub {
  const wire = wireOf(options)
  const { credentials } = options
  const tokens = 'token' in credentials ? staticTokens(credentials.token) : appTokens(wire, credentials)

  const ask: Ask = async (repository, request, call) => {
    const token = await tokens.tokenFor(repository, call)
    try {
      return await send(wire, { ...request, token }, call)
    } catch (error) {
      // A token that we keep may have been revoked: forget it and get another, once.
      if (!isHandoffError(error, 'unauthorized') || !tokens.forget(repository, token)) throw error
      return send(wire, { ...request, token: await tokens.tokenFor(repository, call) }, call)
    }
  }

  const graphql = makeGraphql(wire.apiUrl, ask)
  const identity = makeIdentity(graphql, ask)
  const talk = conversationCalls(ask, identity, graphql)
  const means = { ...talk, pause: wire.clock.sleep, onNotice: wire.onNotice }
  return {
    serverUrl: plainAddress(options.serverUrl),
    identity,
    ...factCalls(ask),
    ...talk,
    async createComment(...asked) {
      try {
        return await talk.createComment(...asked)
      } catch (error) {
        throw error instanceof LostReply ? error.error : error
      }
    },
    ensureComment: (thread, wanted, call) => ensureComment(means, thread, wanted, call),
  }
}

type ConversationCalls = Omit<GitHub, 'serverUrl' | 'identity' | 'ensureComment' | keyof FactCalls>

/** Comments and reactions: those of discussions by GraphQL, all others by the REST API. `createComment` may throw LostReply. */
function conversationCalls(ask: Ask, identity: Identity, graphql: Graphql): ConversationCalls {
  const rest = { ...commentCalls(ask, identity), ...reactionCalls(ask, identity) }
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

function wireOf(options: GitHubOptions): Wire {
  return {
    apiUrl: plainAddress(options.apiUrl),
    userAgent: options.userAgent,
    fetch: options.fetch ?? fetch,
    clock: options.clock ?? systemClock,
    onNotice: options.onNotice ?? (() => {}),
    attemptMs: options.attemptMs ?? 20_000,
    maximumWaitMs: options.maximumWaitMs ?? 90_000,
  }
}

function plainAddress(text: string): string {
  if (parseHttpUrl(text)) return text.replace(/\/+$/, '')
  throw new HandoffError('invalid-input', 'The address of GitHub is not an http(s) address without credentials.', {
    next: 'Write it like https://api.github.com, or https://<host>/api/v3 for an Enterprise Server.',
  })
}

type FactCalls = Pick<GitHub, 'repository' | 'pull' | 'branchHead' | 'permissionOf' | 'compare'>

function factCalls(ask: Ask): FactCalls {
  async function look<T>(repository: string, rest: string, decoder: read.Decoder<T>, doing: string, call: Call) {
    const path = `${shapes.repositoryPath(repository)}${rest}`
    const reply = await ask(repository, { method: 'GET', path, doing, repeatable: true }, call)
    return shapes.decodeReply(reply, decoder, doing)
  }

  async function lookOrNull<T>(
    repository: string,
    rest: string,
    decoder: read.Decoder<T>,
    doing: string,
    call: Call,
  ): Promise<T | null> {
    try {
      return await look(repository, rest, decoder, doing, call)
    } catch (error) {
      if (isHandoffError(error, 'not-found')) return null
      throw error
    }
  }

  return {
    repository: async (repository, call) => look(repository, '', shapes.repositoryFacts, `reading ${repository}`, call),

    pull: async (repository, number, call) =>
      look(
        repository,
        `/pulls/${whole(number)}`,
        shapes.pullFacts,
        `reading pull request ${number} of ${repository}`,
        call,
      ),

    async branchHead(repository, branch, call) {
      const segments = branch.split('/')
      if (segments.some((part) => /^\.{0,2}$/.test(part))) return null
      const path = `/git/ref/heads/${segments.map(encodeURIComponent).join('/')}`
      const found = await lookOrNull(repository, path, shapes.reference, `reading a branch of ${repository}`, call)
      return found?.object.sha ?? null
    },

    async permissionOf(repository, login, call) {
      const nobody = { level: 'none', roleName: 'none', user: null } as const
      // A bot's name ends in [bot]; GitHub gives out no other characters.
      if (!/^[A-Za-z0-9_-]{1,100}(\[bot\])?$/.test(login)) return nobody
      const path = `/collaborators/${encodeURIComponent(login)}/permission`
      const doing = `reading what ${login} may do in ${repository}`
      return (await lookOrNull(repository, path, shapes.permission, doing, call)) ?? nobody
    },

    compare: async (repository, base, head, call) =>
      lookOrNull(
        repository,
        `/compare/${encodeURIComponent(base)}...${encodeURIComponent(head)}?per_page=1`,
        shapes.comparison,
        `comparing two commits of ${repository}`,
        call,
      ),
  }
}

/**
 * `GET /user` is closed to the tokens of Apps and of Actions; the viewer of the GraphQL API is open to every kind of token. Asked once: all
 * tokens of one App write as the same bot.
 */
function makeIdentity(graphql: Graphql, ask: Ask): GitHub['identity'] {
  let known: Author | undefined
  return async (repository, call) => {
    known ??= await askViewer(graphql, ask, repository, call)
    return known
  }
}

async function askViewer(graphql: Graphql, ask: Ask, repository: string, call: Call): Promise<Author> {
  const doing = 'asking who we are'
  const operation = { document: 'query { viewer { login databaseId } }', shape: shapes.viewer, doing, repeatable: true }
  const data = await graphql(repository, operation, call)
  if (data === null) throw new HandoffError('git', 'GitHub does not say whose token it was given.')
  const { viewer } = data
  if (viewer.databaseId !== null) {
    return { login: viewer.login, id: viewer.databaseId, type: viewer.login.endsWith('[bot]') ? 'Bot' : 'User' }
  }
  const user = `/users/${encodeURIComponent(viewer.login)}`
  return shapes.decodeReply(
    await ask(repository, { method: 'GET', path: user, doing, repeatable: true }, call),
    shapes.plainUser,
    doing,
  )
}
