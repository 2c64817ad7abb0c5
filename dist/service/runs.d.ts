export { default } from '../../api/_functions/runs.js'
