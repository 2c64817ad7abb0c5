// POST /api/ask
import { postAsk } from '../_asking.js'
import { serveHere } from '../_here.js'

export default serveHere('ask', 300, { POST: postAsk })
