// POST /api/ask

import { serveHere } from '../define-function.js'
import { postAsk } from '../routes/ask.js'

export default serveHere('ask', 300, { POST: postAsk })
