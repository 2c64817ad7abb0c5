// GET /api/runs, and by rewrites everything below it.
import { serveHere } from '../_here.js'
import { getRuns } from '../_runs.js'

export default serveHere('runs', 300, { GET: getRuns })
