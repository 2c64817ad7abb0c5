// Failures that once did more harm than they should: each was found by a random schedule and is kept here by name.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { summarise } from '../../../../src/handoff/workflows/summarise/summarise-commit.js'
import type { PlannedFault } from '../../../support/fault-proxy.js'
import { type ScriptedStack, startScriptedStack } from '../../../support/scripted-stack.js'

let stack: ScriptedStack

beforeAll(async () => {
  stack = await startScriptedStack()
}, 60_000)

afterAll(() => stack?.close())

const drive = (route: string, occurrence = 1): PlannedFault => ({
  cloud: 'drive',
  route,
  occurrence,
  fault: 'answers 403',
})

test('when the ref and the seal are both refused, the workflow ends with one error and nothing else hears of the other', async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown) => unheard.push(reason)
  process.on('unhandledRejection', hear)
  const faults = [drive('HEAD /v1/fs/…/refs/heads/{name}.json'), drive('PUT /v1/fs/…/commits/{run}.sealing.json')]
  await using one = await stack.process({ faults })
  const place = stack.scenario('octo/refused')
  const timer = summarise(place.summarise(one, 'first'), one.context, new AbortController().signal)
  await expect(timer).rejects.toMatchObject({ code: 'forbidden' })
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', hear)
  expect(one.proxy.calls.filter(({ fault }) => fault)).toHaveLength(2)
  expect(unheard).toEqual([])
})
