// GET /api/cron: _functions/cron.ts and what it uses, as `npm run build` puts them together.
export { default } from '../dist/service/cron.js'
