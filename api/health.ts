// GET /api/health
import { defineFunction } from '../src/service/define-function.js'
import { getHealth } from '../src/service/routes/health.js'

export default defineFunction('health', 30, { GET: getHealth })
