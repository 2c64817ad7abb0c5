import { expect, test } from 'vitest'
import { createThrottle } from '../../../../src/handoff/workflows/pull-request/throttle.js'
import { manualClock } from '../../../support/clock.js'
import { until } from '../../../support/until.js'

function paced(write: (text: string) => Promise<number> = async () => 0) {
  const clock = manualClock()
  const said: { text: string; at: number }[] = []
  const start = clock.now()
  const pacer = createThrottle({
    clock,
    intervalMs: 3_000,
    firstMs: 3_000,
    write: (text) => {
      said.push({ text, at: clock.now() - start })
      return write(text)
    },
  })
  const turn = async () => {
    // Lets everything run that waits for nothing but its turn.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { clock, said, pacer, turn }
}

test('the same words again are no news', async () => {
  const { clock, said, pacer, turn } = paced()
  for (const text of ['one', 'one', 'two']) {
    pacer.say(text)
    await turn()
    clock.advance(3_000)
    await turn()
  }
  expect(said).toEqual([
    { text: 'one', at: 3_000 },
    { text: 'two', at: 6_000 },
  ])
})

test('no word is lost that comes just when the one before was said', async () => {
  for (let turns = 0; turns < 12; turns += 1) {
    const said: string[] = []
    const clock = manualClock({ jump: true })
    const pacer = createThrottle({
      clock,
      intervalMs: 3_000,
      firstMs: 3_000,
      write: async (text) => {
        said.push(text)
        let later = Promise.resolve()
        for (let turn = 0; turn < turns; turn += 1) later = later.then(() => {})
        if (text === 'one') void later.then(() => pacer.say('two'))
        return 0
      },
    })
    pacer.say('one')
    await until(`both are said, ${turns} turns apart`, () => said.length === 2)
  }
})

test('after a pause the next word is said at once, and then the pace holds again', async () => {
  const { clock, said, pacer, turn } = paced()
  clock.advance(10_000)
  pacer.say('one')
  await turn()
  pacer.say('two')
  await turn()
  expect(said).toEqual([{ text: 'one', at: 10_000 }])
  clock.advance(3_000)
  await turn()
  expect(said.at(-1)).toEqual({ text: 'two', at: 13_000 })
})

test('a silence that was asked for is kept, and one for good', async () => {
  let silence = 20_000
  const { clock, said, pacer, turn } = paced(async () => silence)
  pacer.say('one')
  await turn()
  clock.advance(3_000)
  await turn()
  pacer.say('two')
  await turn()
  clock.advance(19_999)
  await turn()
  expect(said).toHaveLength(1)
  silence = Number.POSITIVE_INFINITY
  clock.advance(1)
  await turn()
  expect(said).toHaveLength(2)
  pacer.say('three')
  await turn()
  clock.advance(1_000_000)
  await turn()
  expect(said.map(({ text }) => text)).toEqual(['one', 'two'])
})

test('nothing is said after the stop, which waits for what is on its way', async () => {
  const way = Promise.withResolvers<number>()
  const { clock, said, pacer, turn } = paced(() => way.promise)
  pacer.say('one')
  await turn()
  clock.advance(3_000)
  await until('it is on its way', () => said.length === 1)
  pacer.say('two')
  let stopped = false
  const stopping = pacer.stop().then(() => {
    stopped = true
  })
  await turn()
  expect(stopped).toBe(false)
  way.resolve(0)
  await stopping
  pacer.say('three')
  clock.advance(100_000)
  await turn()
  expect(said.map(({ text }) => text)).toEqual(['one'])
})

test('what does not arrive in two seconds is cut off', async () => {
  const clock = manualClock()
  let cut = false
  const pacer = createThrottle({
    clock,
    intervalMs: 0,
    firstMs: 0,
    write: (_text, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          cut = true
          resolve(0)
        })
      }),
  })
  pacer.say('one')
  await new Promise((resolve) => setImmediate(resolve))
  const stopping = pacer.stop()
  await until('it waits', () => clock.waiting > 0)
  clock.advance(1_999)
  await new Promise((resolve) => setImmediate(resolve))
  expect(cut).toBe(false)
  clock.advance(1)
  await stopping
  expect(cut).toBe(true)
})
