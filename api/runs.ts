// GET /api/runs: _functions/runs.ts and what it uses, as `npm run build` puts them together.
export { default } from '../dist/service/runs.js'
