// Errors in OpenAI's form.
import { type Problem, type ProblemPlace, problemResponse } from '../http/problem-details.js'

const types: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

export function openAiError({ status, code, detail, next }: Problem, { requestId }: Pick<ProblemPlace, 'requestId'>) {
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const message = next === undefined ? detail : `${detail} ${next}`
  return { error: { message, type, param: null, code, request_id: requestId } }
}

export function openAiErrorResponse(problem: Problem, place: ProblemPlace): Response {
  const { status, headers } = problemResponse(problem, place)
  headers.set('content-type', 'application/json')
  return new Response(`${JSON.stringify(openAiError(problem, place))}\n`, { status, headers })
}
