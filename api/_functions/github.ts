// POST /api/github: the webhook.
import { serveHere } from '../_here.js'
import { postGitHub } from '../_webhook.js'

export default serveHere('github', 300, { POST: postGitHub })
