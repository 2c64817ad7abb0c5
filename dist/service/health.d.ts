export { default } from '../../api/_functions/health.js'
