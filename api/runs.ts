// GET, DELETE and PATCH /api/runs, by rewrites everything below it, and every address at which there is nothing
import { defineFunction } from '../src/service/define-function.js'
import { deleteAnswer, getRuns, patchAnswer, readAddress } from '../src/service/routes/runs.js'

export default defineFunction('runs', 300, { GET: getRuns, DELETE: deleteAnswer, PATCH: patchAnswer }, { readAddress })
