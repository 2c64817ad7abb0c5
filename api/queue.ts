// POST /api/queue: called by Vercel Queues
import { defineFunction } from '../src/service/define-function.js'
import { postQueue } from '../src/service/routes/queue.js'

export default defineFunction('queue', 300, { POST: postQueue })
