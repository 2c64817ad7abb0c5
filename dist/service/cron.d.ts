export { default } from '../../api/_functions/cron.js'
