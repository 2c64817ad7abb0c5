// POST /api/github: GitHub's webhook
import { defineFunction } from '../src/service/define-function.js'
import { postGitHub } from '../src/service/routes/github.js'

export default defineFunction('github', 300, { POST: postGitHub })
