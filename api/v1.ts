// GET /v1/models and POST /v1/chat/completions, for OpenAI clients
import { defineFunction } from '../src/service/define-function.js'
import { getV1, postV1, v1 } from '../src/service/routes/v1.js'

export default defineFunction('v1', 300, { GET: getV1, POST: postV1 }, v1)
