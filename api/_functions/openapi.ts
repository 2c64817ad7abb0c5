// GET /api/openapi: what there is, as OpenAPI 3.1.
import { serveHere } from '../_here.js'
import { jsonResponse } from '../_json.js'
import { openApiDocument } from '../_openapi.js'
import { wantJson } from '../_request.js'

export default serveHere('openapi', 30, {
  GET: ({ request, url }) => {
    wantJson(request)
    return jsonResponse(200, openApiDocument(url.origin), { 'cache-control': 'public, max-age=300' })
  },
})
