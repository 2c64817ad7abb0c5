// GET /api/health: _functions/health.ts and what it uses, as `npm run build` puts them together.
export { default } from '../dist/service/health.js'
