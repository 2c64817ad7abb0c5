// POST /api/github: _functions/github.ts and what it uses, as `npm run build` puts them together.
export { default } from '../dist/service/github.js'
