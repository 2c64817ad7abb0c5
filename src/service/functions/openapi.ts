// GET /api/openapi: what there is, as OpenAPI 3.1.
import { serveHere } from '../define-function.js'
import { jsonResponse } from '../http/json.js'
import { wantJson } from '../http/parse-request.js'
import { openApiDocument } from '../openapi/document.js'

export default serveHere('openapi', 30, {
  GET: ({ request, url }) => {
    wantJson(request)
    return jsonResponse(200, openApiDocument(url.origin), { 'cache-control': 'public, max-age=300' })
  },
})
