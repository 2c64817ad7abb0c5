// `npm run clouds`: starts the three clouds on this machine, prints the settings that use them, and keeps them until it is interrupted.
import { startClouds } from '../local/clouds.js'

const clouds = await startClouds()
process.stdout.write('# The local clouds are running; Ctrl-C ends them. In another terminal:\n')
for (const [name, value] of Object.entries(clouds.settings)) process.stdout.write(`export ${name}=${value}\n`)

await new Promise<void>((resolve) => {
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve())
})
await clouds.close()
