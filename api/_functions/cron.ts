// GET /api/cron, called by the platform (or any clock that bears CRON_SECRET): nothing that was promised is forgotten.
import { sweep } from '../_cron.js'
import { serveHere } from '../_here.js'

export default serveHere('cron', 300, { GET: sweep })
