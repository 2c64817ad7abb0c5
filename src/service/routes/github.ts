// POST /api/github: the webhook. Size, signature, event, then once for each delivery and each comment, then who asks: only then anything is
// looked up. The answer is the same conversation as in the Action, held in the background.
import { createHash } from 'node:crypto'
import type * as Product from '../../handoff/index.js'
import { answerComment, permissionOf } from '../answer-comment.js'
import { type Door, door } from '../app.js'
import { type Exchange, notesOf } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { parseJson, readBody, wantJsonBody } from '../http/parse-request.js'
import { Refusal } from '../http/problem-details.js'
import { divideTime, pause } from '../http/request-deadline.js'

/** Comments have 65,536 characters; with the repository and the people around it no event of ours is larger. */
const mostBytes = 1_000_000
/** GitHub hangs up ten seconds after it began. So long after the delivery came it is told something, whatever the directory does. */
const acknowledgeMs = 8_000
/** Whoever has no permission is told so in the answer to the delivery, if GitHub says it this soon after the delivery came. */
const patienceMs = 600

export async function postGitHub(exchange: Exchange): Promise<Response> {
  const arrived = Date.now()
  const here = door()
  const { request } = exchange
  if (here.settings.webhookSecrets.length === 0) throw notSigned('There is no webhook here.')
  const bytes = await readBody(request, mostBytes)
  const context = await here.context()
  if (!context.isSigned(bytes, request.headers.get('x-hub-signature-256'), here.settings.webhookSecrets)) {
    throw notSigned('The signature of the delivery is missing or wrong.')
  }
  wantJsonBody(request)
  const name = request.headers.get('x-github-event') ?? ''
  exchange.note({ event: name.slice(0, 60) })
  if (name === 'ping') return jsonResponse(200, { ok: true })
  const event = context.readAskEvent(name, parseJson(bytes))
  if ('ignored' in event) return ignored(exchange, event.ignored)
  const command = context.parseAskCommand(event.body)
  if (command === null || command.question === '') return ignored(exchange, 'There is no question behind /ask.')
  if (context.isBot(event.asker)) return ignored(exchange, 'Bots are not answered.')
  return take(exchange, here, { event, command, delivery: request.headers.get('x-github-delivery') ?? '', arrived })
}

function notSigned(detail: string): Refusal {
  return new Refusal(401, 'unauthorized', detail, {
    next: 'Set the same secret in the webhook settings on GitHub and in HANDOFF_WEBHOOK_SECRETS.',
    headers: { 'www-authenticate': 'Signature realm="handoff"' },
  })
}

function ignored(exchange: Exchange, why: string): Response {
  exchange.note({ ignored: why })
  return jsonResponse(200, { ignored: why })
}

interface Asked {
  event: Product.AskEvent
  command: { question: string; fresh: boolean }
  /** Empty where nobody says it. */
  delivery: string
  arrived: number
}

async function take(exchange: Exchange, here: Door, asked: Asked): Promise<Response> {
  const [context, service, github] = await Promise.all([here.context(), here.service(), here.github()])
  const soon = AbortSignal.any([exchange.signal, exchange.limit.workUntil(asked.arrived + acknowledgeMs)])
  const seen = await firstTime(exchange, context, service, { ...asked, soon })
  if (seen === undefined) {
    exchange.note({ duplicate: true })
    return jsonResponse(202, { duplicate: true })
  }
  const { workBy } = divideTime(exchange.deadline, Date.now())
  const note = noteOf(here, context, service, asked, exchange.deadline)
  const { background, limit } = exchange
  const of = { here, context, service, github, note, workBy, background, limit }
  const permission = permissionOf(of)
  // Looked at when the note stands; until then its failure is nobody's.
  permission.catch(() => undefined)
  const noted = context.promiseComment(service, note, soon)
  // A note that landed after it was taken away would stay.
  const answering = noted
    .catch(() => undefined)
    .then(async () => {
      exchange.note(await answerComment(of, permission).catch(notesAndThrow(exchange)))
      await seen.accept({ run: '', answer: note.answer })
    })
  exchange.background(answering)
  exchange.logAfter(answering)
  await noted
  const early = await Promise.race([permission.catch(() => undefined), pause(asked.arrived + patienceMs - Date.now())])
  if (early && !early.allowed) return ignored(exchange, early.text)
  return jsonResponse(202, { accepted: true })
}

const timeLeft = ({ arrived }: Asked) => arrived + acknowledgeMs - Date.now()

const notesAndThrow = (exchange: Exchange) => (error: unknown) => {
  exchange.note(notesOf(error))
  throw error
}

/** Undefined for a delivery that comes again, and for a comment that is known by another delivery. */
async function firstTime(
  exchange: Exchange,
  context: typeof Product,
  service: Product.Service,
  asked: Asked & { soon: AbortSignal },
): Promise<{ accept(pointer: { run: string; answer: string }): Promise<void> } | undefined> {
  const { event, delivery, soon } = asked
  const request = { body: hash('webhook'), now: Date.now(), until: exchange.deadline }
  const { drive } = service.context.ports
  const begin = (name: string) =>
    context.beginRequest(drive, service.place.delivery(hash(name).slice(0, 32)), request, soon, exchange.background)
  // One after the other: of two that came at once each would win one name, and neither would answer.
  const comment = await begin(commentName(event))
  if (comment.kind !== 'begun' || delivery === '') return comment.kind === 'begun' ? comment : undefined
  const own = await begin(`delivery ${delivery}`).catch(async (error: unknown) => {
    await letGo(exchange, asked, comment)
    throw error
  })
  if (own.kind === 'begun') {
    return {
      accept: async (pointer) => {
        await Promise.all([comment.accept(pointer), own.accept(pointer)])
      },
    }
  }
  await letGo(exchange, asked, comment)
  return undefined
}

/** A name that is free again when the delivery is answered, unless that takes too long. */
async function letGo(exchange: Exchange, asked: Asked, name: { release(): Promise<void> }): Promise<void> {
  const released = name.release().catch(() => undefined)
  exchange.background(released)
  await Promise.race([released, pause(timeLeft(asked))])
}

const commentName = ({ repositoryId, target }: Product.AskEvent) =>
  `comment ${repositoryId} ${target.thread.kind} ${target.question}`

/** Written before the delivery is acknowledged: enough for anybody to answer it later. */
function noteOf(
  here: Door,
  context: typeof Product,
  service: Product.Service,
  { event, command }: Asked,
  deadline: number,
): Product.AcceptedNote {
  const { thread } = event.target
  const slash = thread.repository.lastIndexOf('/')
  return {
    version: 1,
    answer: hash(commentName(event)).slice(0, 32),
    until: deadline,
    repository: {
      host: new URL(here.settings.github.serverUrl).host,
      owner: thread.repository.slice(0, slash),
      name: thread.repository.slice(slash + 1),
      id: String(event.repositoryId),
    },
    caller: `github:${event.repositoryId}`,
    model: service.context.ports.model.name,
    post: event.target,
    asked: {
      // Enough to see that it is too long.
      text: command.question.slice(0, 2 * context.longestQuestion),
      pull: thread.number,
      asker: `github:${event.asker.login}`,
      user: { id: event.asker.id, login: event.asker.login, type: event.asker.type },
      ...(command.fresh ? { fresh: true } : {}),
    },
  }
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex')
