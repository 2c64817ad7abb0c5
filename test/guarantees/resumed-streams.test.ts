// A client whose connection is lost in the middle of an answer continues at another instance, and sees every word once.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunningFunctions } from '../../src/emulators/vercel/start.js'
import { type Deployment, deploy, name, recordOf, type ServerEvent, token } from '../service/kit.js'
import { until } from '../support/until.js'

const points = process.env['LONG'] === '1' ? 200 : 24
const atOnce = 8
let here: Deployment
let other: RunningFunctions

/** Longer than the moments at which the words are kept. */
const text = `It is refreshed by refreshToken. ${Array.from({ length: 60 }, (_none, index) => `word${index}`).join(' ')} 🙂 end.`

beforeAll(async () => {
  here = await deploy({ quickFinds: true })
  other = await here.another()
  here.stack.clouds.model.setBehaviour({ kind: 'say', text }, { task: 'answer' })
  here.stack.clouds.model.setBehaviour({ kind: 'slow', firstMs: 50, pieceMs: 40 }, { task: 'answer' })
}, 200_000)

afterAll(async () => {
  await here?.close()
})

interface Seen {
  words: string
  lastId: string
  self?: string
  ending?: ServerEvent
  received: number
  restarts: number
}

/** Reads events until the stream ends, or until so many bytes arrived in all. */
async function read(seen: Seen, url: string, init: RequestInit, most = Number.POSITIVE_INFINITY): Promise<void> {
  const leave = new AbortController()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...init.headers }
  const last = seen.lastId === '' ? {} : { 'last-event-id': seen.lastId }
  const response = await fetch(url, { ...init, headers: { ...headers, ...last }, signal: leave.signal })
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const piece of response.body ?? []) {
      const taken = piece.subarray(0, Math.max(0, most - seen.received))
      seen.received += taken.length
      const frames = (rest + decoder.decode(taken, { stream: true })).split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) take(seen, frame)
      if (seen.received >= most) return leave.abort()
    }
  } catch (error) {
    if (!leave.signal.aborted) throw error
  }
}

function take(seen: Seen, frame: string): void {
  const fields = new Map(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  )
  const [event, data] = [fields.get('event'), JSON.parse(fields.get('data') ?? 'null')]
  seen.lastId = fields.get('id') ?? seen.lastId
  if (event === 'token') seen.words += data.text
  if (event === 'status' && data.state === 'accepted') seen.self = data.self
  if (event === 'status' && data.state === 'restarted') Object.assign(seen, { words: '', restarts: seen.restarts + 1 })
  if (event === 'answer' || event === 'error') seen.ending = { event, data, id: '', at: 0 }
}

const beginning = (): Seen => ({ words: '', lastId: '', received: 0, restarts: 0 })

const asking = (question: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ repository: name, run: here.run.run, question }),
})

/** How many bytes an answer has that is not cut. */
async function wholeLength(): Promise<number> {
  const seen = beginning()
  await read(seen, `${here.url}/api/ask`, asking('How long is the whole of it?'))
  expect(seen.ending?.event).toBe('answer')
  return seen.received - JSON.stringify(seen.ending?.data).length
}

test(`cut at each of ${points} points of the stream, it sees every word once, in two requests or three`, async () => {
  const whole = await wholeLength()
  const cut = async (point: number) => {
    const seen = beginning()
    const question = `What is said at point ${point} of w${(point * 7_919).toString(36)}?`
    await read(seen, `${here.url}/api/ask`, asking(question), Math.ceil(((point + 1) * whole) / (points + 1)))
    // Every third point is followed by its address, as a browser's EventSource does it.
    if (point % 3 === 0 && seen.self && seen.words !== '') await read(seen, `${other.url}${seen.self}`, {})
    else await read(seen, `${other.url}/api/ask`, asking(question))
    const answer = seen.ending?.data
    return { point, event: seen.ending?.event, words: seen.words, restarts: seen.restarts, id: answer?.id as string }
  }
  const wrong: unknown[] = []
  for (let first = 0; first < points; first += atOnce) {
    const batch = Array.from({ length: Math.min(atOnce, points - first) }, (_none, index) => cut(first + index))
    for (const result of await Promise.all(batch)) {
      const right = result.event === 'answer' && result.words === text && result.restarts === 0
      if (!right) wrong.push(result)
    }
  }
  expect(wrong).toEqual([])
}, 600_000)

test('two readers of one answer see the same words, and a reader of an answer that is there only the answer', async () => {
  const question = 'Which words do both of them read?'
  const [asker, joiner] = [beginning(), beginning()]
  const asked = read(asker, `${here.url}/api/ask`, asking(question))
  await until('the question was accepted', () => asker.self !== undefined)
  await read(joiner, `${other.url}${asker.self}`, {})
  await asked
  expect([asker.words, joiner.words]).toEqual([text, text])
  const late = beginning()
  await read(late, `${other.url}${asker.self}`, {})
  expect({ words: late.words, event: late.ending?.event }).toEqual({ words: '', event: 'answer' })
})

test('words that another process wrote after the first one died begin anew', async () => {
  const seen = { ...beginning(), words: 'words of a dead process', lastId: 'dead0claim-23' }
  await read(seen, `${here.url}/api/ask`, asking('What is written after a restart?'))
  expect({ words: seen.words, restarts: seen.restarts }).toEqual({ words: text, restarts: 1 })
})

test('the record has at most two writes more than an answer without words, and the words are in no reply', async () => {
  const question = 'How often is the record written?'
  const seen = beginning()
  const before = here.stack.clouds.drive.requests.length
  await read(seen, `${here.url}/api/ask`, asking(question))
  const id = seen.ending?.data.id as string
  const writes = here.stack.clouds.drive.requests
    .slice(before)
    .filter(({ method, path }) => method === 'PUT' && path.includes(`${id}.json`))
  expect(writes.length).toBeLessThanOrEqual(4)
  expect(recordOf(here, id)).toMatchObject({ status: 'done', written: { text } })
  expect(seen.ending?.data).not.toHaveProperty('written')
})
