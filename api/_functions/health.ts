// GET /api/health
import { getHealth } from '../_health.js'
import { serveWith } from '../_here.js'

export default serveWith('health', 30, { GET: getHealth })
