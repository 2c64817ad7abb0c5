// POST /api/github: the webhook. Checks size, signature, event and author, then sends a job, which holds the same conversation as the Action.
// A repeated delivery of a comment is one job.
import * as product from '../../handoff/index.js'
import { type App, getApp } from '../app.js'
import type { RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { parseJson, readBody, wantJsonBody } from '../http/parse-request.js'
import { ignored, unsigned } from '../http/webhook.js'
import { readPermission } from '../jobs/comment-job.js'
import type { CommentJob, CorrectionJob } from '../jobs/job.js'
import { sendJob } from '../jobs/send-job.js'

/** A comment has at most 65,536 characters, so no handled event is larger. */
const maximumBytes = 1_000_000
/** GitHub closes the connection after ten seconds. A permission that is unknown by then is checked by the job. */
const permissionMs = 6_000

const next = 'Set the same secret in the webhook settings on GitHub and in HANDOFF_WEBHOOK_SECRETS.'

export async function postGitHub(exchange: RequestContext): Promise<Response> {
  const app = getApp()
  const { request } = exchange
  if (app.settings.webhookSecrets.length === 0) throw unsigned('There is no webhook here.', next)
  const bytes = await readBody(request, maximumBytes)
  if (!product.isSigned(bytes, request.headers.get('x-hub-signature-256'), app.settings.webhookSecrets)) {
    throw unsigned('The signature of the delivery is missing or wrong.', next)
  }
  wantJsonBody(request)
  const name = request.headers.get('x-github-event') ?? ''
  exchange.note({ event: name.slice(0, 60) })
  if (name === 'ping') return jsonResponse(200, { ok: true })
  const event = product.readAskEvent(name, parseJson(bytes))
  if ('ignored' in event) return ignored(exchange, event.ignored)
  if (event.command === 'correct') return correct(exchange, app, event)
  const command = product.parseAskCommand(event.body)
  if (command === null || command.question === '') return ignored(exchange, 'There is no question behind /ask.')
  if (product.isBot(event.asker)) return ignored(exchange, 'Bots are not answered.')
  return acceptComment(exchange, app, createJob(app, event, command))
}

async function correct(exchange: RequestContext, app: App, event: product.AskEvent): Promise<Response> {
  const command = product.parseCorrectCommand(event.body)
  if (command === null) return ignored(exchange, 'There is no correction behind /correct.')
  if (product.isBot(event.asker)) return ignored(exchange, 'Bots may not correct.')
  return acceptComment(exchange, app, { kind: 'correct', command, ...authorOf(app, event) })
}

/** A comment of an account without permission causes one GitHub request, no job and no reply. */
async function acceptComment(exchange: RequestContext, app: App, job: CommentJob | CorrectionJob): Promise<Response> {
  const soon = AbortSignal.any([exchange.signal, exchange.limit.workUntil(Date.now() + permissionMs)])
  const may = await readPermission(job, app, soon).catch((error: unknown) => {
    if (product.passesByItself(error)) return undefined
    throw error
  })
  if (may?.allowed === false) return ignored(exchange, may.text)
  await sendJob(job)
  return jsonResponse(202, { accepted: true })
}

function createJob(app: App, event: product.AskEvent, command: product.AskCommand): CommentJob {
  return {
    kind: 'comment',
    ...authorOf(app, event),
    // One byte over the limit suffices to reject it.
    question: command.question.slice(0, 2 * product.longestQuestion),
    fresh: command.fresh,
    depth: command.depth,
    caller: `github:${event.repositoryId}`,
  }
}

/** Who wrote the comment, and where. */
function authorOf(app: App, { target, repositoryId, asker }: product.AskEvent) {
  const { repository } = target.thread
  const slash = repository.lastIndexOf('/')
  return {
    repository: {
      host: new URL(app.settings.github.serverUrl).host,
      owner: repository.slice(0, slash),
      name: repository.slice(slash + 1),
      id: String(repositoryId),
    },
    target,
    user: { id: asker.id, login: asker.login, type: asker.type },
  }
}
