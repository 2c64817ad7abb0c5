// Every event that GitHub's own examples show, signed and delivered: none is an error of the service, and only questions do anything.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type LocalGitHub, startGitHub } from '../../src/emulators/github/server.js'
import { askingEvents, type ExampleEvent, exampleEvents } from '../support/example-events.js'
import { until } from '../support/until.js'
import { type Deployment, deploy, webhookSecrets } from './kit.js'

let here: Deployment
let github: LocalGitHub

beforeAll(async () => {
  github = await startGitHub()
  here = await deploy({
    quickFinds: true,
    environment: {
      GITHUB_API_URL: github.apiUrl,
      HANDOFF_GITHUB_TOKEN: github.issueToken({ permissions: { contents: 'read', pull_requests: 'write' } }),
      HANDOFF_WEBHOOK_SECRETS: webhookSecrets.join(','),
    },
  })
}, 200_000)

afterAll(async () => {
  expect(github?.unexpected).toEqual([])
  await here?.close()
  await github?.close()
})

async function deliver({ name, payload }: ExampleEvent) {
  const event = { name, payload } as Parameters<LocalGitHub['deliver']>[1]
  const response = await github.deliver(`${here.url}/api/github`, event, { secret: webhookSecrets[0]! })
  return { name, status: response.status, body: (await response.json()) as object }
}

test('an example that asks nothing is acknowledged, and nothing outside is called', async () => {
  const before = { reached: here.reached(), asked: github.server.requests.length }
  const replies = await Promise.all(exampleEvents.map(deliver))
  const wanted = exampleEvents.map(({ name }) => {
    return { name, status: 200, body: name === 'ping' ? { ok: true } : { ignored: expect.any(String) } }
  })
  expect(replies).toEqual(wanted)
  expect({ reached: here.reached(), asked: github.server.requests.length }).toEqual(before)
})

test('a question in an example, from a person whom GitHub knows nothing about, is refused without a sandbox', async () => {
  const machines = here.machines()
  const replies = await Promise.all(askingEvents('/ask Why?').map(deliver))
  expect(replies.filter(({ status }) => status >= 400)).toEqual([])
  expect(replies.length).toBeGreaterThan(10)
  await until('nothing is left in the background', async () => (await here.functions.state()).pending === 0)
  expect(here.machines()).toBe(machines)
  expect(github.comments).toEqual([])
})
