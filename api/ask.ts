// POST /api/ask: _functions/ask.ts and what it uses, as `npm run build` puts them together.
export { default } from '../dist/service/ask.js'
