// GET /api/runs, and by rewrites everything below it.
import { serveHere } from '../_door.js'
import { getRuns } from '../_runs.js'

export default serveHere('runs', 300, { GET: getRuns })
