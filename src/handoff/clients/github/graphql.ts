// GitHub's GraphQL, where its REST API has no words for something: who we are, and discussions.

import { HandoffError } from '../../domain/errors.js'
import type { Call } from '../../domain/github.js'
import * as read from '../../util/decode.js'
import type { Ask } from './comments.js'
import { decodeReply } from './responses.js'

export interface Operation<T> {
  document: string
  variables?: Record<string, string | null>
  /** What `data` looks like. */
  shape: read.Decoder<T>
  /** What is being done, as it continues a sentence. */
  doing: string
  repeatable: boolean
  /** What a job needs to be allowed it. */
  permission?: string
}

/** Null when GitHub does not know one of the ids. */
export type Graphql = <T>(repository: string, operation: Operation<T>, call: Call) => Promise<T | null>

const reply = read.object({
  errors: read.optional(
    read.array(read.object({ type: read.optional(read.string(100)), message: read.string(10_000) }), 1_000),
  ),
})

export function makeGraphql(apiUrl: string, ask: Ask): Graphql {
  // On an Enterprise Server it stands beside /api/v3.
  const path = `${apiUrl.replace(/\/v3$/, '')}/graphql`
  return async (repository, operation, call) => {
    const { document, variables = {}, shape, doing, repeatable } = operation
    const body = { query: document, variables }
    const received = await ask(repository, { method: 'POST', path, body, doing, repeatable }, call)
    // A refusal comes with status 200.
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
  const why = limited ? 'because of its limits' : 'for a reason that it did not name'
  return new HandoffError('git', `GitHub refused ${doing}, ${why}.`, {
    next: limited ? 'Try again later.' : 'Try again.',
    ...(limited ? { retryAfterSeconds: 60 } : {}),
  })
}
