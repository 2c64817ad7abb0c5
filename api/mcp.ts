// POST /api/mcp: the Model Context Protocol
import { defineFunction } from '../src/service/define-function.js'
import { getMcp, postMcp } from '../src/service/routes/mcp.js'

export default defineFunction('mcp', 300, { POST: postMcp, GET: getMcp })
