// GET /api/health
import { serveHere } from '../_door.js'
import { getHealth } from '../_health.js'

export default serveHere('health', 30, { GET: getHealth })
