// POST /api/github: the webhook.
import { serveHere } from '../define-function.js'
import { postGitHub } from '../routes/github.js'

export default serveHere('github', 300, { POST: postGitHub })
