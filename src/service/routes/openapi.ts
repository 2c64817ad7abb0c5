// GET /api/openapi.
import type { RequestContext } from '../http/http-function.js'
import { taggedResponse } from '../http/json.js'
import { wantJson } from '../http/parse-request.js'
import { openApiDocument } from '../openapi/document.js'

export function getOpenApi({ request, url }: RequestContext): Response {
  wantJson(request)
  return taggedResponse(request, openApiDocument(url.origin))
}
