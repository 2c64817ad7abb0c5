// GET /api/runs, and by rewrites everything below it, and whatever is nothing.
import { serveHere } from '../_here.js'
import { getRuns, readAddress } from '../_runs.js'

export default serveHere('runs', 300, { GET: getRuns }, { readAddress })
