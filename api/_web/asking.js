// From a question to its answer on the page: streams it, draws its steps, and looks for it when the connection is lost on the way.
import { showAnswer, writeAlong } from './answer.js'
import { clearProblem, showProblem } from './problem.js'
import { lostConnection, Problem } from './requests.js'
import { makeTimeline } from './timeline.js'
import { seconds } from './words.js'

/**
 * Asks and shows. `desk` brings the service, the place (repository and run), `follow`, `links`, `say` and `retry(question, instead)`. Resolves, never
 * rejects, with what became of it: `answered`, `stopped`, `failed` or `unauthorized`.
 */
export async function askAndShow(question, desk, parts, signal) {
  const timeline = makeTimeline()
  const writing = writeAlong(parts)
  parts.slot.replaceChildren(timeline.node)
  clearProblem(parts.problem)
  try {
    const answer = await answerOf(question, desk, { timeline, writing }, signal)
    writing.stop()
    timeline.end(endingOf(answer))
    const again = () => desk.retry({ ...question, fresh: true })
    showAnswer(parts, answer, { follow: (citation) => desk.follow(citation, answer), again, links: desk.links })
    desk.say(`The answer is ready. ${answer.verified ?? ''}`)
    return 'answered'
  } catch (error) {
    writing.stop()
    return failed(error, question, desk, parts, timeline, signal)
  }
}

function failed(error, question, desk, parts, timeline, signal) {
  parts.words.setAttribute('aria-busy', 'false')
  if (!signal.aborted) parts.words.replaceChildren()
  timeline.end((total) => `${signal.aborted ? 'Stopped' : 'Not answered'} after ${seconds(total)}`)
  if (signal.aborted) {
    desk.say('Stopped.')
    return 'stopped'
  }
  if (error instanceof Problem && error.document.status === 401) return 'unauthorized'
  showProblem(parts.problem, error, () => desk.retry(question, parts.node))
  return 'failed'
}

const endingOf = (answer) => (total, machine) => {
  if (answer.reused) return `Taken from the ledger in ${seconds(total)}, without a sandbox`
  if (machine === undefined) return `Answered in ${seconds(total)}`
  return `Answered in ${seconds(total)}. The sandbox lived ${seconds(machine)} and is gone.`
}

async function answerOf(question, desk, { timeline, writing }, signal) {
  const seen = { id: undefined }
  try {
    for await (const [name, data] of desk.service.ask(question, signal)) {
      if (name === 'answer') return data
      if (name === 'error') throw new Problem(data)
      if (name === 'token') {
        if (!writing.written()) desk.say('The answer is being written.')
        writing.push(String(data.text))
      }
      if (name === 'status') noteStatus(data, seen, timeline, desk)
    }
    throw lostConnection()
  } catch (error) {
    if (signal.aborted || seen.id === undefined || !worthWaiting(error)) throw error
    return await later(seen.id, desk, error, signal)
  }
}

function noteStatus(data, seen, timeline, desk) {
  if (data.state === 'accepted' || data.state === 'joined') seen.id = data.id
  const aloud = timeline.status(data)
  if (aloud) desk.say(aloud)
}

/** The question is in the ledger: when only the connection or the function's time is over, the answer may still come. */
function worthWaiting(error) {
  if (!(error instanceof Problem)) return true
  return error.document.code === 'connection' || error.document.self !== undefined
}

const waits = [500, 1_000, 2_000, 3_000]
const longestWait = 120_000

async function later(id, desk, error, signal) {
  desk.say('The connection was lost. Looking for the answer.')
  const end = performance.now() + longestWait
  for (let tries = 0; performance.now() < end; tries += 1) {
    await wait(waits[Math.min(tries, waits.length - 1)], signal)
    const found = await desk.service.answer(desk.place, id, signal).catch((reason) => reason)
    if (signal.aborted) throw found
    // Read from the ledger, but made for us.
    if (found.status === 'done') return { ...found, reused: found.reusedFrom !== undefined }
    if (found.status === 'failed')
      throw new Problem({ title: 'The question was not answered', ...problemFields(found.error) })
    if (found instanceof Problem && ![undefined, 404, 429, 503].includes(found.document.status)) throw found
  }
  throw error
}

const problemFields = ({ code, message, next }) => ({ code, detail: message, next })

function wait(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
