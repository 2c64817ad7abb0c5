// Errors as OpenAI's service writes them.
import { json, type Reply } from '../faulty-server.js'

export function errorReply(
  status: number,
  message: string,
  more: { type: string; code: string | null; param?: string },
  headers: Record<string, string> = {},
): Reply {
  return json(status, { error: { message, param: null, ...more } }, headers)
}

export const invalidRequestReply = (status: number, message: string, code: string | null, param?: string): Reply =>
  errorReply(status, message, { type: 'invalid_request_error', code, ...(param === undefined ? {} : { param }) })
