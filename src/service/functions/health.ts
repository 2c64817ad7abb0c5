// GET /api/health

import { serveHere } from '../define-function.js'
import { getHealth } from '../routes/health.js'

export default serveHere('health', 30, { GET: getHealth })
