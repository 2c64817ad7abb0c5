export { default } from '../../api/_functions/ask.js'
