// POST /api/github: the webhook.
import { serveHere } from '../_door.js'
import { postGitHub } from '../_webhook.js'

export default serveHere('github', 300, { POST: postGitHub })
