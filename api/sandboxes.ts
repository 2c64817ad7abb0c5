// POST /api/sandboxes: E2B's lifecycle webhook
import { defineFunction } from '../src/service/define-function.js'
import { postSandboxEvent } from '../src/service/routes/sandboxes.js'

export default defineFunction('sandboxes', 30, { POST: postSandboxEvent })
