// From a question to its answer on the page: streams it, draws its steps, and when the connection is lost on the way looks for it, or asks again.
import { showAnswer, writeAlong } from './answer.js'
import { findRecord } from './recover-answer.js'
import { clearProblem, showProblem } from './error-panel.js'
import { brokenConnection, Problem } from './api-client.js'
import { makeTimeline } from './timeline.js'
import { seconds } from './format.js'

/**
 * Asks and shows. `desk` brings the service, the place (repository and run), `follow`, `links`, `say`, `look` and `retry(question, instead)`. Resolves,
 * never rejects, with what became of it: `answered`, `stopped`, `failed` or `unauthorized`.
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
  if (signal.aborted) return 'stopped'
  if (error instanceof Problem && error.document.status === 401) return 'unauthorized'
  const look = mayStillCome(error) ? desk.look : undefined
  showProblem(parts.problem, error, () => desk.retry(question, parts.node), { asks: true, look })
  return 'failed'
}

const endingOf = (answer) => (total, machine) => {
  if (answer.reused) return `Taken from the ledger in ${seconds(total)}, without a sandbox`
  if (machine === undefined) return `Answered in ${seconds(total)}`
  return `Answered in ${seconds(total)}. The sandbox lived ${seconds(machine)} and is gone.`
}

/** The service gave a question up, as it does when whoever asked has left. Nothing was wrong with the question. */
class GivenUp extends Problem {}

/** Asks; and once more when the question was given up because the connection was lost. */
async function answerOf(question, desk, shown, signal) {
  try {
    return await askOrFind(question, desk, shown, signal)
  } catch (error) {
    if (signal.aborted || !(error instanceof GivenUp)) throw error
  }
  shown.timeline.again('The connection was lost; asking again')
  desk.say('The connection was lost; asking again.')
  return await askOrFind(question, desk, shown, signal)
}

async function askOrFind(question, desk, shown, signal) {
  const asked = { id: undefined, requestId: undefined }
  try {
    return await streamed(question, desk, shown, asked, signal)
  } catch (error) {
    if (!signal.aborted && asked.id !== undefined && mayStillCome(error))
      return await found(asked, error, desk, shown, signal)
    throw numbered(error, asked)
  }
}

/** A connection that breaks off does not say which request it was. */
const numbered = (error, { requestId }) =>
  error instanceof Problem ? new Problem({ requestId, ...error.document }) : error

async function streamed(question, desk, { timeline, writing }, asked, signal) {
  for await (const [name, data] of desk.service.ask(question, signal)) {
    if (name === 'answer') return data
    if (name === 'error') throw new Problem(data)
    if (name === 'token') {
      if (!writing.written()) desk.say('The answer is being written.')
      writing.push(String(data.text))
    }
    if (name === 'status') noteStatus(data, asked, timeline, desk)
  }
  throw brokenConnection()
}

function noteStatus(data, asked, timeline, desk) {
  if (data.state === 'looking') asked.requestId = data.requestId
  if (data.state === 'accepted' || data.state === 'joined') asked.id = data.id
  const aloud = timeline.status(data)
  if (aloud) desk.say(aloud)
}

/** The question is in the ledger: when only the connection or the function's time is over, the answer may still come. */
const mayStillCome = (error) =>
  error instanceof Problem && (error.document.code === 'connection' || error.document.self !== undefined)

async function found(asked, reason, desk, { timeline, writing }, signal) {
  const promised = reason.document.self !== undefined
  const headline = promised
    ? 'The time of this request is over; waiting for the answer'
    : 'The connection was lost; looking for the answer'
  writing.hold()
  timeline.search(headline)
  desk.say(`${headline}.`)
  const record = await findRecord((within) => desk.service.answer(desk.place, asked.id, within), signal)
  // Read from the ledger, but made for us.
  if (record?.status === 'done') return { ...record, reused: record.reusedFrom !== undefined }
  if (record) throw failureOf(record.error, asked, promised)
  throw promised ? reason : new Problem({ ...neverCame, requestId: asked.requestId })
}

function failureOf({ code, message, next }, { requestId }, promised) {
  const told = { title: 'The question was not answered', code, requestId }
  if (promised || !['cancelled', 'timeout'].includes(code)) return new Problem({ ...told, detail: message, next })
  const detail = `The connection was lost, twice. ${message}`
  return new GivenUp({ ...told, detail, next: next ?? 'Look whether your connection holds, then try again.' })
}

const neverCame = {
  title: 'The connection was lost',
  detail: 'No answer to this question appeared in the two minutes after that.',
  next: 'Look whether you are online, then try again. Should the answer come later, it stands among the earlier ones.',
  code: 'connection',
}
