// POST /api/ask
import { defineFunction } from '../src/service/define-function.js'
import { postAsk } from '../src/service/routes/ask.js'

export default defineFunction('ask', 300, { POST: postAsk })
