// GET /api/health
import { getHealth } from '../_health.js'
import { serveHere } from '../_here.js'

export default serveHere('health', 30, { GET: getHealth })
