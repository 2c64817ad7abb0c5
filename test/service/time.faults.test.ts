// A silent drive and a caller who leaves: the request ends in words, and no sandbox stays. `jobs.faults.test.ts` has what a job goes on with.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { until } from '../support/until.js'
import { type Answer, call, type Deployment, deploy, events, name, post } from './kit.js'

let here: Deployment
/** An instance whose requests may take four seconds: enough to begin, also on a busy machine, and soon over. */
let short: RunningFunctions

beforeAll(async () => {
  here = await deploy({ quickFinds: true })
  short = await here.another({}, 4)
  // What is loaded for the first question takes long on a busy machine.
  await post(short.url, ask('What is first?'))
}, 200_000)

afterAll(async () => {
  await here?.close()
})

afterEach(() => here.stack.clouds.model.clearRules())

const ask = (question: string) => ({ repository: name, run: here.run.run, question })
/** The model says nothing before this is taken back. */
const silence = () => here.stack.clouds.model.rule({ path: /chat\/completions/, fault: { kind: 'hang' } })

test.each<[string, () => Promise<Answer>]>([
  ['a question', () => post(short.url, ask('What does a silent drive hold?'))],
  ['a question with a name', () => post(short.url, ask('What does it hold?'), { 'idempotency-key': 'silent' })],
  ['a list of runs', () => call(short.url, `/api/runs?repository=${name}`)],
])('%s that a silent drive keeps waiting ends with 504, and in words', async (_what, asking) => {
  const takeBack = here.stack.clouds.drive.rule({ fault: { kind: 'hang' } })
  const { status, body, headers } = await asking().finally(takeBack)
  expect([status, body.code, headers.get('content-type')]).toEqual([504, 'timeout', 'application/problem+json'])
})

test.each(['events', 'one piece'])(
  'a client that leaves ends its machine: %s',
  async (way) => {
    const takeBack = silence()
    const made = here.machines()
    const leave = new AbortController()
    const question = ask(`Who leaves ${way}?`)
    const asking =
      way === 'events' ? events(here.url, question, { signal: leave.signal }) : leavingPost(question, leave.signal)
    const left = expect(asking).rejects.toThrow()
    await until('it is at work', () => here.machines() > made)
    leave.abort()
    await left
    await until('the machine is gone', () => here.stack.clouds.sandboxes.sandboxes[made]!.state === 'gone')
    takeBack()
    await until('nothing is left in the background', async () => (await here.functions.state()).pending === 0)
    const { body } = await post(here.url, question)
    expect(body).toMatchObject({ status: 'done', reused: false })
  },
  60_000,
)

const leavingPost = (question: unknown, signal: AbortSignal) =>
  fetch(`${here.url}/api/ask`, {
    method: 'POST',
    body: JSON.stringify(question),
    headers: { 'content-type': 'application/json', authorization: 'Bearer token-of-team-a-0123456789' },
    signal,
  })
