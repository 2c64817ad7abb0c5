// The clock: what it forgets. What it takes up stands in time.test.ts and webhook.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/until.js'
import { call, cronSecret, type Deployment, deploy } from './kit.js'

let here: Deployment
let hoursAgo = 0

beforeAll(async () => {
  const now = () => Date.now() - hoursAgo * 3_600_000
  here = await deploy({ quickFinds: true, clouds: { drive: { now } } })
}, 120_000)

afterAll(async () => {
  await here?.close()
})

/** The drive dates what is written by its own clock. */
function leaveNames(folder: string, count: number, hours: number): void {
  hoursAgo = hours
  for (let index = 0; index < count; index += 1)
    here.world.clouds.drive.write(`/handoff/_service/${folder}/${hours}-hours-${index}.json`, '{}')
  hoursAgo = 0
}

const namesIn = (folder: string) =>
  here.world.clouds.drive
    .tree(`/handoff/_service/${folder}`)
    .flatMap(({ path, isDirectory }) => (isDirectory ? [] : path.split('/').at(-1)))

test('however many names there are and however slow each goes, the old ones of both kinds are forgotten, the others not', async () => {
  leaveNames('keys', 400, 50)
  leaveNames('deliveries', 20, 50)
  for (const folder of ['keys', 'deliveries']) leaveNames(folder, 1, 46)
  const takeBack = here.world.clouds.drive.rule({ method: 'DELETE', fault: { kind: 'delay', milliseconds: 100 } })
  expect((await call(here.url, '/api/cron', { token: cronSecret })).status).toBe(202)
  const left = () => namesIn('keys').length + namesIn('deliveries').length
  await until('the old ones are gone', () => left() === 2, 40_000)
  takeBack()
  expect([namesIn('keys'), namesIn('deliveries')]).toEqual([['46-hours-0.json'], ['46-hours-0.json']])
  await until('nothing is left in the background', async () => (await here.functions.state()).pending === 0)
})
