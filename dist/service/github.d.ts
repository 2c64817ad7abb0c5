export { default } from '../../api/_functions/github.js'
