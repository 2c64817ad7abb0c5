// POST /api/ask
import { postAsk } from '../_asking.js'
import { serveHere } from '../_door.js'

export default serveHere('ask', 300, { POST: postAsk })
