// /api/auth/login, /callback, /session and /logout: people sign in with GitHub
import { defineFunction } from '../src/service/define-function.js'
import { getAuth, postAuth, readAddress } from '../src/service/routes/auth.js'

export default defineFunction('auth', 30, { GET: getAuth, POST: postAuth }, { readAddress })
