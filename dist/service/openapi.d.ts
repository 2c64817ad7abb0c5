export { default } from '../../api/_functions/openapi.js'
