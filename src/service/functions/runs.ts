// GET /api/runs, and by rewrites everything below it, and whatever is nothing.
import { serveHere } from '../define-function.js'
import { getRuns, readAddress } from '../routes/runs.js'

export default serveHere('runs', 300, { GET: getRuns }, { readAddress })
