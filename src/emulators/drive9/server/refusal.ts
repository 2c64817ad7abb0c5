// How the local drive9 says no: a status and the sentence the real service says, as `{"error": …}`.
import { json, type Reply } from '../../faulty-server.js'

export class Refusal extends Error {
  readonly status: number
  readonly headers: Record<string, string>

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

export function refuse(status: number, message: string, headers: Record<string, string> = {}): never {
  throw new Refusal(status, message, headers)
}

export function refusalReply(refusal: Refusal): Reply {
  return json(refusal.status, { error: refusal.message }, refusal.headers)
}

/** What the service says when its own storage fails, and when something is asked that its storage cannot do. */
export const storageProblem = 'storage backend unavailable; contact support'
