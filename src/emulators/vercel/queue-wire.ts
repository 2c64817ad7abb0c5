// What goes over the wire between the emulator of Vercel Queues and its clients.
import { freshId, type Reply } from '../faulty-server.js'

export const longestVisibilitySeconds = 3_600

export const refuse = (status: number, text: string): Reply => ({
  status,
  headers: { 'content-type': 'text/plain' },
  body: text,
})

/** NaN for what is no number of seconds; every comparison with it is false. */
export function secondsIn(header: string | undefined, otherwise: number): number {
  if (header === undefined) return otherwise
  return /^\d+$/.test(header) ? Number(header) : Number.NaN
}

const defaultRetentionSeconds = 24 * 60 * 60
const longestRetentionSeconds = 7 * 24 * 60 * 60

/** The headers of a message that is sent, or the refusal of a wrong one. */
export function readSend(headers: Record<string, string | undefined>) {
  const contentType = headers['content-type']
  const retention = secondsIn(headers['vqs-retention-seconds'], defaultRetentionSeconds)
  const delay = secondsIn(headers['vqs-delay-seconds'], 0)
  const key = headers['vqs-idempotency-key']
  if (contentType === undefined) return refuse(400, 'Content-Type is missing.')
  if (!(retention >= 60 && retention <= longestRetentionSeconds)) return refuse(400, 'Retention is 60 s to 7 days.')
  if (!(delay <= retention)) return refuse(400, 'The delay is not valid, or exceeds the retention.')
  if (key !== undefined && (key.length > 256 || key === '')) return refuse(400, 'The idempotency key is too long.')
  return { contentType, retention, delay, key }
}

export function visibilityIn(body: Buffer): number | undefined {
  const { visibilityTimeoutSeconds: seconds } = JSON.parse(body.toString()) as { visibilityTimeoutSeconds?: unknown }
  const valid = Number.isInteger(seconds) && (seconds as number) >= 0 && (seconds as number) <= longestVisibilitySeconds
  return valid ? (seconds as number) : undefined
}

/** Not signed: the emulator compares it as a whole. The client reads when it expires. */
export function oidcToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const expires = Math.floor(Date.now() / 1_000) + 12 * 60 * 60
  return `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ sub: 'local', exp: expires })}.${freshId()}`
}

/** One message, as a consumer receives it by its id. */
export function multipart(contentType: string, body: Buffer, headers: Record<string, string>): Reply {
  const boundary = `local-${freshId()}`
  const lines = Object.entries({ 'Content-Type': contentType, ...headers }).map(([name, value]) => `${name}: ${value}`)
  const head = [`--${boundary}`, ...lines].join('\r\n')
  return {
    status: 200,
    headers: { 'content-type': `multipart/mixed; boundary=${boundary}` },
    body: Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body, Buffer.from(`\r\n--${boundary}--\r\n`)]),
  }
}
