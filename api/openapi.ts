// GET /api/openapi: the service as OpenAPI 3.1
import { defineFunction } from '../src/service/define-function.js'
import { getOpenApi } from '../src/service/routes/openapi.js'

export default defineFunction('openapi', 30, { GET: getOpenApi })
