// GET /api/openapi: _functions/openapi.ts and what it uses, as `npm run build` puts them together.
export { default } from '../dist/service/openapi.js'
