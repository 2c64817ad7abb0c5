// GET /api/cron, called by the platform (or any clock that bears CRON_SECRET): nothing that was promised is forgotten.

import { serveHere } from '../define-function.js'
import { sweep } from '../routes/cron.js'

export default serveHere('cron', 300, { GET: sweep })
