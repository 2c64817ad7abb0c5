// GitHub's GraphQL API, for what the REST API lacks: the author of our comments, and discussions.

import { HandoffError } from '../../domain/errors.js'
import type { Call } from '../../domain/github.js'
import * as read from '../../util/decode.js'
import type { AuthorizedSend } from './comments.js'
import { decodeReply } from './responses.js'

interface Operation<T> {
  document: string
  variables?: Record<string, string | null>
  /** Decodes `data`. */
  shape: read.Decoder<T>
  /** What the operation does, for messages. */
  doing: string
  idempotent: boolean
  /** The permission that a job's token needs. */
  permission?: string
}

/** Null when GitHub does not know one of the ids. */
export type Graphql = <T>(repository: string, operation: Operation<T>, call: Call) => Promise<T | null>

const reply = read.object({
  errors: read.optional(
    read.array(read.object({ type: read.optional(read.string(100)), message: read.string(10_000) }), 1_000),
  ),
})

export function makeGraphql(apiUrl: string, send: AuthorizedSend): Graphql {
  // An Enterprise Server has it at /api/graphql, beside /api/v3.
  const path = `${apiUrl.replace(/\/v3$/, '')}/graphql`
  return async (repository, operation, call) => {
    const { document, variables = {}, shape, doing, idempotent } = operation
    const body = { query: document, variables }
    const received = await send(repository, { method: 'POST', path, body, doing, idempotent }, call)
    // GraphQL errors have status 200.
    const [error] = decodeReply(received, reply, doing).errors ?? []
    if (error?.type === 'NOT_FOUND') return null
    if (error !== undefined) throw refusal(error.type, operation)
    return decodeReply(received, read.object({ data: shape }), doing).data
  }
}

function refusal(type: string | undefined, { doing, permission }: Operation<unknown>): HandoffError {
  if (type === 'FORBIDDEN' || type === 'INSUFFICIENT_SCOPES') {
    const next = permission === undefined ? {} : { next: `Give the token the permission ${permission}.` }
    return new HandoffError('forbidden', `GitHub does not allow ${doing}.`, next)
  }
  const limited = type === 'RATE_LIMITED'
  const why = limited ? 'because of its rate limit' : 'without a reason'
  return new HandoffError('git', `GitHub refused ${doing}, ${why}.`, {
    next: limited ? 'Try again later.' : 'Try again.',
    ...(limited ? { retryAfterSeconds: 60 } : {}),
  })
}
