// Shared state of several instances, on the drive9 emulator: concurrent processes, manual clocks, and what a crashed process leaves.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LocalDrive, startDrive } from '../../../src/emulators/drive9/server/main.js'
import type { Fault } from '../../../src/emulators/faulty-server.js'
import { makeDrive } from '../../../src/handoff/clients/drive9/client.js'
import { systemClock } from '../../../src/handoff/clients/system-clock.js'
import { HandoffError, isHandoffError } from '../../../src/handoff/domain/errors.js'
import type { Clock } from '../../../src/handoff/domain/ports.js'
import { makeBudgets } from '../../../src/handoff/store/caller-budgets.js'
import { optimisticFile } from '../../../src/handoff/store/optimistic-file.js'
import { manualClock } from '../../support/clock.js'

let local: LocalDrive
let root: string
let count = 0

beforeAll(async () => {
  local = await startDrive()
})

beforeEach(() => {
  count += 1
  root = `/state-${count}/_service`
  local.clearRules()
})

afterAll(async () => {
  await local?.close()
})

const drive = () => makeDrive({ server: local.url, key: local.ownerKey })
/** One whose calls fail at the first failure. */
const hasty = () => makeDrive({ server: local.url, key: local.ownerKey, times: { tries: 1, pauseMs: 1 } })
const noService: Fault = { kind: 'answer', status: 503, body: '{"error":"storage backend unavailable"}' }

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => (isHandoffError(error) ? error.code : String(error)),
  )
}

function counter(clock: Clock = systemClock) {
  return optimisticFile<{ count: number; revision?: number }>({
    drive: drive(),
    path: `${root}/budgets/counter.json`,
    clock,
    decode: (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as { count: number; revision?: number },
    encode: (state) => new TextEncoder().encode(JSON.stringify(state)),
    empty: () => ({ count: 0 }),
    contentionError: ({ count }) => new HandoffError('sandbox-limit', `Crowded at ${count}.`),
  })
}

/** Another process writes before each of the next `times` writes. `next` computes its text from the current text. */
function othersAreQuicker(times: number, next: (text: string | undefined) => string): void {
  const path = `${root}/budgets/counter.json`
  let left = times
  const match = ({ method, path: at }: { method: string; path: string }) => {
    if (method === 'PUT' && at.includes(root) && left-- > 0) local.write(path, next(local.readFile(path)?.toString()))
    return false
  }
  local.rule({ match, fault: { kind: 'hang' } })
}

const countOne = (text: string | undefined) => JSON.stringify({ count: text ? JSON.parse(text).count + 1 : 1 })

test('three processes count to 150 together, and nothing is lost; few writes do it', async () => {
  const files = [counter(), counter(), counter()]
  const add = (state: { count: number }) => {
    state.count += 1
    return state.count
  }
  const before = local.requests.filter(({ method }) => method === 'PUT').length
  const seen = await Promise.all(Array.from({ length: 150 }, (_none, index) => files[index % 3]!.update(add)))
  expect(new Set(seen).size).toBe(150)
  expect(await counter().update((state) => state.count)).toBe(150)
  expect(local.requests.filter(({ method }) => method === 'PUT').length - before).toBeLessThan(75)
})

test('a change that throws changes nothing, and a look that writes nothing is made on what stands there now', async () => {
  const [one, two] = [counter(), counter()]
  await one.update((state) => {
    state.count = 7
  })
  await two.update((state) => {
    state.count = 8
  })
  expect(await one.update((state) => state.count)).toBe(8)
  await expect(
    one.update(() => {
      throw new Error('not so')
    }),
  ).rejects.toThrow('not so')
  expect(await two.update((state) => state.count)).toBe(8)
})

const asked = async (work: () => Promise<unknown>) => {
  const before = local.requests.length
  await work()
  return local.requests.slice(before).map(({ method }) => method)
}

test('one look tells content and revision; what says no revision, or a wrong one, is looked at twice', async () => {
  const add = (state: { count: number }) => {
    state.count += 1
    return state.count
  }
  const path = `${root}/budgets/counter.json`
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'PUT'])
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'PUT'])
  local.write(path, JSON.stringify({ count: 5 }))
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'HEAD', 'GET', 'PUT'])
  local.write(path, JSON.stringify({ count: 7, revision: 2 }))
  expect(await asked(() => counter().update(add))).toEqual(['GET', 'PUT', 'GET', 'HEAD', 'GET', 'PUT'])
  expect(JSON.parse(local.readFile(path)!.toString())).toEqual({ count: 8, revision: 6 })
})

test('who loses against others all the time goes on as long as there is time, and then says what the file is for', async () => {
  const still = { now: () => 1_000, sleep: async () => {} }
  othersAreQuicker(150, countOne)
  const add = (state: { count: number }) => {
    state.count += 1
    return state.count
  }
  expect(await counter(still).update(add)).toBe(151)
  local.clearRules()
  othersAreQuicker(Number.POSITIVE_INFINITY, countOne)
  const clock = manualClock({ jump: true })
  const start = clock.now()
  await expect(counter(clock).update(add)).rejects.toMatchObject({ code: 'sandbox-limit' })
  expect(clock.now() - start).toBeGreaterThanOrEqual(20_000)
  const longest = Math.max(...clock.slept)
  expect(longest).toBeGreaterThan(500)
  expect(longest).toBeLessThanOrEqual(2_000)
})

test('what was spent is charged though the drive fails when it is settled, and once', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z'), jump: true })
  const budgets = makeBudgets(hasty(), root, { tokensPerDay: 100 }, clock)
  const reserve = (tokens: number) => budgets.reserve('x', 'a', { tokens, cost: 0 }, clock.now() + 300_000)
  const settle = await reserve(80)
  const works = local.rule({ path: new RegExp(root), fault: noService })
  expect(await codeOf(settle({ tokens: 30, cost: 0 }))).toBe('drive')
  works()
  await settle()
  await settle({ tokens: 50, cost: 0 })
  expect(await codeOf(reserve(71))).toBe('budget')
  expect(await codeOf(reserve(70))).toBe('done')
})

test('a budget is reserved before and settled after, over two processes, and is whole again the next day', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T20:00:00Z') })
  const make = () => makeBudgets(drive(), root, { tokensPerDay: 100 }, clock)
  const [here, there] = [make(), make()]
  const later = () => clock.now() + 60_000
  const settle = await here.reserve('x', 'one', { tokens: 80, cost: 0 }, later())
  const refused = await there.reserve('x', 'two', { tokens: 80, cost: 0 }, later()).catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: 'budget', retryAfterSeconds: 10 })
  await settle({ tokens: 10, cost: 0 })
  await (await there.reserve('x', 'two', { tokens: 80, cost: 0 }, later()))({ tokens: 80, cost: 0 })
  const spent = await here.reserve('x', 'three', { tokens: 80, cost: 0 }, later()).catch((error: unknown) => error)
  expect(spent).toMatchObject({ code: 'budget', retryAfterSeconds: 4 * 3_600 })
  await there.reserve('y', 'four', { tokens: 80, cost: 0 }, later())
  clock.advance(5 * 3_600_000)
  await here.reserve('x', 'five', { tokens: 80, cost: 0 }, later())
})

test('a reservation of a crashed process expires', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z') })
  const budgets = makeBudgets(drive(), root, { costPerDay: 1 }, clock)
  await budgets.reserve('x', 'dead', { tokens: 0, cost: 0.9 }, clock.now() + 1_000)
  clock.advance(2_000)
  expect(await codeOf(budgets.reserve('x', 'next', { tokens: 0, cost: 0.9 }, clock.now() + 1_000))).toBe('done')
})

test('a reservation that the network delivers twice is made once', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z') })
  const budgets = makeBudgets(drive(), root, { tokensPerDay: 100 }, clock)
  const takeBack = local.rule({ method: 'PUT', fault: { kind: 'twice' }, times: 1 })
  expect(await codeOf(budgets.reserve('x', 'one', { tokens: 60, cost: 0 }, clock.now() + 1_000))).toBe('done')
  takeBack()
})

test('around midnight two processes whose clocks differ by five seconds spend two days, and not a day each time', async () => {
  const start = Date.parse('2026-11-18T23:59:57Z')
  const instances = [start, start + 5_000].map((time) => {
    const clock = manualClock({ start: time })
    return { clock, budgets: makeBudgets(drive(), root, { tokensPerDay: 100 }, clock) }
  })
  const ended: string[] = []
  for (let round = 0; round < 20; round += 1) {
    const { clock, budgets } = instances[round % 2]!
    const asked = budgets.reserve('x', `question ${round}`, { tokens: 50, cost: 0 }, clock.now() + 60_000)
    ended.push(await codeOf(asked.then((settle) => settle({ tokens: 50, cost: 0 }))))
  }
  expect(ended.filter((one) => one === 'done').length).toBeLessThanOrEqual(4)
  expect(ended.filter((one) => one === 'done').length).toBeGreaterThanOrEqual(2)
})

test('a clock that is days ahead takes no budget from the others', async () => {
  const ahead = makeBudgets(drive(), root, { tokensPerDay: 100 }, manualClock({ start: Date.parse('2027-01-01') }))
  await ahead.reserve('x', 'far', { tokens: 100, cost: 0 }, Date.parse('2026-11-18T10:01:00Z'))
  const clock = manualClock({ start: Date.parse('2026-11-18T10:02:00Z') })
  const budgets = makeBudgets(drive(), root, { tokensPerDay: 100 }, clock)
  expect(await codeOf(budgets.reserve('x', 'now', { tokens: 100, cost: 0 }, clock.now() + 60_000))).toBe('done')
})

test('a budget that cannot be read begins again; one of a newer version says what to update or remove', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z') })
  const reserve = () =>
    makeBudgets(drive(), root, { tokensPerDay: 100 }, clock).reserve('x', 'a', { tokens: 60, cost: 0 }, clock.now() + 9)
  await reserve()
  const [path] = local.tree(root).flatMap((entry) => (entry.isDirectory ? [] : [entry.path]))
  local.write(path!, '{"version":1,"day":')
  expect(await codeOf(reserve())).toBe('done')
  local.write(path!, '{"version":2}')
  expect(await reserve().catch((error: unknown) => error)).toMatchObject({
    code: 'unknown-version',
    next: expect.stringContaining(path!),
  })
})

test('a caller that has left reserves nothing, though others write the file all the time', async () => {
  const clock = manualClock({ start: Date.parse('2026-11-18T10:00:00Z'), jump: true })
  const left = new AbortController()
  let writes = 0
  const match = ({ method, path }: { method: string; path: string }) => {
    if (method !== 'PUT' || !path.includes(root)) return false
    writes += 1
    if (writes === 3) left.abort()
    local.write(
      decodeURIComponent(path.replace('/v1/fs', '')),
      `{"version":1,"day":"2026-11-18","tokens":${writes},"cost":0,"reserved":[]}`,
    )
    return false
  }
  local.rule({ match, fault: { kind: 'hang' } })
  const asked = makeBudgets(drive(), root, { tokensPerDay: 100 }, clock).reserve(
    'x',
    'a',
    { tokens: 60, cost: 0 },
    clock.now() + 60_000,
    left.signal,
  )
  expect(await codeOf(asked)).toBe('cancelled')
  expect(writes).toBe(3)
})
