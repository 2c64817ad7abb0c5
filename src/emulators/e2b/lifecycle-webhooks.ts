// The lifecycle webhooks of an account: registered by its API, and called when a sandbox begins, changes and ends.
//
// The form of an event is the struct in E2B's own infrastructure; addresses, headers, signature and repetitions are those of its documentation.
import { createHash, randomUUID } from 'node:crypto'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { Refusal, readJson } from './connect-protocol.js'

/** Each event, and its label from before there were types; the newest has none. */
const labels = {
  created: 'create',
  killed: 'kill',
  paused: 'pause',
  resumed: 'resume',
  updated: 'update',
  checkpointed: '',
}
type LifecycleEvent = keyof typeof labels
const eventTypes: readonly string[] = Object.keys(labels).map((event) => `sandbox.lifecycle.${event}`)

interface Webhook {
  id: string
  createdAt: string
  name: string
  url: string
  enabled: boolean
  events: string[]
  signatureSecret: string
}

/** One attempt to deliver an event. */
export interface Delivery {
  type: string
  sandbox: string
  attempt: number
  /** 0 when there was no reply. */
  status: number
}

export interface WebhookDesk {
  readonly registered: Webhook[]
  readonly deliveries: Delivery[]
  /** Between the attempts of a delivery. */
  readonly pauseMs: number
  readonly teamId: string
  readonly stop: AbortController
}

export function makeWebhookDesk(pauseMs = 10_000): WebhookDesk {
  return { registered: [], deliveries: [], pauseMs, teamId: randomUUID(), stop: new AbortController() }
}

// ── the API ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const fields = ['name', 'url', 'enabled', 'events', 'signatureSecret']

export function registerWebhook(desk: WebhookDesk, request: RecordedRequest): Reply {
  const webhook = { id: randomUUID(), createdAt: new Date().toISOString(), ...readWebhook(request) }
  desk.registered.push(webhook)
  return json(201, shown(desk, webhook))
}

export function removeWebhook(desk: WebhookDesk, id: string): Reply {
  const index = desk.registered.findIndex((one) => one.id === id)
  if (index < 0) throw new Refusal(404, `Webhook ${id} not found`)
  desk.registered.splice(index, 1)
  return json(200, {})
}

const shown = ({ teamId }: WebhookDesk, { signatureSecret: _secret, ...webhook }: Webhook) => ({ ...webhook, teamId })

function readWebhook(request: RecordedRequest): Omit<Webhook, 'id' | 'createdAt'> {
  const body = readJson(request)
  const unknown = Object.keys(body).find((name) => !fields.includes(name))
  if (unknown !== undefined) throw new Refusal(400, `Error when parsing request: unknown field ${unknown}`)
  const missing = fields.find((name) => body[name] === undefined)
  if (missing !== undefined) throw new Refusal(400, `Error when parsing request: ${missing} is missing`)
  const webhook = body as unknown as Webhook
  if (!/^https?:$/.test(URL.canParse(webhook.url) ? new URL(webhook.url).protocol : ''))
    throw new Refusal(400, 'Error when parsing request: url is not an address')
  const strange = webhook.events.find((event) => !eventTypes.includes(event))
  if (strange !== undefined) throw new Refusal(400, `Error when parsing request: there is no event ${strange}`)
  return webhook
}

// ── deliveries ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Subject {
  id: string
  template: string
  metadata: Readonly<Record<string, string>>
  createdAt: Date
}

/** Delivers in the background. A delivery that fails is repeated three times. */
export function publish(desk: WebhookDesk, event: LifecycleEvent, sandbox: Subject, killReason?: string): void {
  const type = `sandbox.lifecycle.${event}`
  const execution = {
    started_at: sandbox.createdAt.toISOString(),
    vcpu_count: 2,
    memory_mb: 1024,
    execution_time: Date.now() - sandbox.createdAt.getTime(),
  }
  const body = JSON.stringify({
    id: randomUUID(),
    version: 'v2',
    type,
    timestamp: new Date().toISOString(),
    event_category: 'lifecycle',
    event_label: labels[event],
    event_data: {
      sandbox_metadata: sandbox.metadata,
      ...(killReason === undefined ? {} : { execution, kill_reason: killReason }),
    },
    sandbox_id: sandbox.id,
    sandbox_execution_id: randomUUID(),
    sandbox_template_id: sandbox.template,
    sandbox_build_id: randomUUID(),
    sandbox_team_id: desk.teamId,
  })
  for (const webhook of desk.registered)
    if (webhook.enabled && webhook.events.includes(type)) void deliver(desk, webhook, body, type, sandbox.id)
}

const signatureOf = (body: string, secret: string) =>
  createHash('sha256').update(`${secret}${body}`).digest('base64url')

const attempts = 4
const answerMs = 10_000

async function deliver(desk: WebhookDesk, webhook: Webhook, body: string, type: string, sandbox: string) {
  for (let attempt = 1; attempt <= attempts && !desk.stop.signal.aborted; attempt += 1) {
    const status = await send(desk, webhook, body)
    desk.deliveries.push({ type, sandbox, attempt, status })
    if (status >= 200 && status < 300) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, desk.pauseMs)
      timer.unref()
      desk.stop.signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

async function send({ stop }: WebhookDesk, { id, url, signatureSecret }: Webhook, body: string): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'e2b-webhook-id': id,
    'e2b-delivery-id': randomUUID(),
    'e2b-signature-version': 'v1',
    'e2b-signature': signatureOf(body, signatureSecret),
  }
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(answerMs)])
  try {
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}
