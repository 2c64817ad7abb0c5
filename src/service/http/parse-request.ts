// Parses requests strictly. An invalid request gets the right status before any other work.
import { type Depth, depthNamed, depths } from '../../handoff/index-for-stored-answers.js'
import { HttpError } from './problem-details.js'

type Mode = 'json' | 'events' | 'async'

/** Reads the response format from `Accept`. An unsupported one is 406. */
export function negotiate(request: Request): Mode {
  const accepted = acceptedTypes(request.headers.get('accept') ?? '*/*')
  const best = ['application/json', 'text/event-stream']
    .map((type) => ({ type, weight: weightOf(accepted, type) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)[0]
  if (!best) {
    throw new HttpError(406, 'not-acceptable', 'Answers come as application/json or text/event-stream.', {
      next: 'Send one of them in Accept.',
    })
  }
  if (best.type === 'text/event-stream') return 'events'
  return /(^|[,;\s])respond-async($|[,;\s])/i.test(request.headers.get('prefer') ?? '') ? 'async' : 'json'
}

/** For addresses that respond with JSON only. */
export function wantJson(request: Request): void {
  const accepted = acceptedTypes(request.headers.get('accept') ?? '*/*')
  if (weightOf(accepted, 'application/json') > 0) return
  throw new HttpError(406, 'not-acceptable', 'This address answers with application/json.')
}

interface Accepted {
  type: string
  weight: number
}

function acceptedTypes(header: string): Accepted[] {
  return header.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((one) => one.trim().toLowerCase())
    const quality = parameters.find((one) => one.startsWith('q='))?.slice(2)
    const weight = quality === undefined ? 1 : Number(quality)
    return { type, weight: Number.isFinite(weight) ? Math.min(1, Math.max(0, weight)) : 0 }
  })
}

/** The most specific range that matches the type decides. */
function weightOf(accepted: Accepted[], type: string): number {
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*']
  for (const range of ranges) {
    const found = accepted.find((one) => one.type === range)
    if (found) return found.weight
  }
  return 0
}

/** Reads a body of at most `most` bytes. A longer one is rejected while it is being sent. */
export async function readBody(request: Request, most: number): Promise<Buffer> {
  if (Number(request.headers.get('content-length') ?? '0') > most) throw tooLarge(most)
  const pieces: Uint8Array[] = []
  let size = 0
  const reader = request.body?.getReader()
  try {
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      size += piece.value.length
      if (size > most) throw tooLarge(most)
      pieces.push(piece.value)
    }
  } catch (error) {
    if (error instanceof HttpError) throw error
    throw new HttpError(400, 'invalid-input', 'The body broke off.')
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
  return Buffer.concat(pieces)
}

function tooLarge(most: number): HttpError {
  return new HttpError(413, 'payload-too-large', `The body may have ${most.toLocaleString('en-US')} bytes.`)
}

export function wantJsonBody(request: Request): void {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase()
  const encoding = request.headers.get('content-encoding')
  if ((type === 'application/json' || type.endsWith('+json')) && (encoding === null || encoding === 'identity')) return
  throw new HttpError(415, 'unsupported-media-type', 'The body is to be application/json, not compressed.', {
    headers: { accept: 'application/json' },
  })
}

export function parseJson(body: Buffer): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw new HttpError(400, 'invalid-input', 'The body is not UTF-8.')
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new HttpError(400, 'invalid-input', 'The body is not JSON.')
  }
}

type AskedName = { run: string } | { commit: string } | { ref: string }

export interface AskBody {
  repository: string
  name: AskedName
  /** The earlier run of a comparison. */
  compareWith?: AskedName | undefined
  pull?: number | undefined
  question: string
  thread?: string | undefined
  /** The id of the answer that the question follows. */
  after?: string | undefined
  fresh: boolean
  comment: boolean
  model?: string | undefined
  depth?: Depth | undefined
}

const names = ['run', 'commit', 'ref', 'pull']
const fields = [
  'repository',
  ...names,
  'compareWith',
  'question',
  'thread',
  'after',
  'fresh',
  'comment',
  'model',
  'depth',
]

/** Checks the shape of a question. The workflow checks its meaning. */
export function readAsk(value: unknown): AskBody {
  const body = objectOf(value, 'The body', fields)
  const repository = text(body, 'repository', 400)
  const question = text(body, 'question', 500_000)
  if (repository === undefined || question === undefined) throw wrong('`repository` and `question` are needed.')
  const name = readName(body, 'says what is asked about')
  const compareWith = readCompared(body['compareWith'])
  const pull = body['pull'] === undefined ? undefined : (body['pull'] as number)
  const thread = text(body, 'thread', 400)
  const after = text(body, 'after', 32)
  if (after !== undefined && !/^[0-9a-f]{32}$/.test(after)) throw wrong('`after` is not the id of an answer.')
  if (after !== undefined && thread !== undefined) throw wrong('Either `thread` or `after`, not both.')
  const model = text(body, 'model', 200)
  const depth = readDepth(body)
  const comment = flag(body, 'comment')
  if (comment && pull === undefined) throw wrong('`comment` needs `pull`: where to write it.')
  return {
    repository,
    name,
    question,
    fresh: flag(body, 'fresh'),
    comment,
    compareWith,
    pull,
    thread,
    after,
    model,
    depth,
  }
}

function readDepth(body: Record<string, unknown>): Depth | undefined {
  const named = text(body, 'depth', 20)
  const depth = named === undefined ? undefined : depthNamed(named)
  if (named === undefined || depth !== undefined) return depth
  throw wrong('`depth` is not known.', `There are ${depths.join(', ')}.`)
}

/** `{ "useful": true }`. */
export function readFeedback(value: unknown): boolean {
  const { useful } = objectOf(value, 'The body', ['useful'])
  if (typeof useful === 'boolean') return useful
  throw wrong('`useful` is needed: true or false.')
}

function objectOf(value: unknown, what: string, known: string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(`${what} is not an object.`)
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown === undefined) return value as Record<string, unknown>
  throw wrong(
    `There is no field ${JSON.stringify(unknown.slice(0, 40))} in ${what.toLowerCase()}.`,
    `There are ${known.join(', ')}.`,
  )
}

function readCompared(value: unknown): AskedName | undefined {
  return value === undefined
    ? undefined
    : readName(objectOf(value, '`compareWith`', names), 'says what it is compared with')
}

function readName(body: Record<string, unknown>, saying: string): AskedName {
  const given = names.filter((key) => body[key] !== undefined)
  if (given.length !== 1) throw wrong(`Exactly one of \`run\`, \`commit\`, \`ref\` and \`pull\` ${saying}.`)
  const pull = body['pull']
  if (pull !== undefined) return { ref: pullRef(pull) }
  const run = text(body, 'run', 200)
  if (run !== undefined) return { run }
  const commit = text(body, 'commit', 200)
  return commit === undefined ? { ref: fullRef(text(body, 'ref', 1_000) ?? '') } : { commit }
}

export function pullRef(pull: unknown): string {
  if (typeof pull === 'number' && Number.isSafeInteger(pull) && pull > 0 && pull < 1e10) return `refs/pull/${pull}`
  throw wrong('`pull` is not the number of a pull request.')
}

/** Accepts the short name of a branch. `HEAD` stands for the default branch. */
export function fullRef(ref: string): string {
  return ref === 'HEAD' || ref.startsWith('refs/') ? ref : `refs/heads/${ref}`
}

function text(body: Record<string, unknown>, name: string, most: number): string | undefined {
  const value = body[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.length <= most && value.isWellFormed() && !value.includes('\0')) return value
  throw wrong(`\`${name}\` is not a text of at most ${most.toLocaleString('en-US')} characters.`)
}

function flag(body: Record<string, unknown>, name: string): boolean {
  const value = body[name] ?? false
  if (typeof value === 'boolean') return value
  throw wrong(`\`${name}\` is not true or false.`)
}

export function wrong(detail: string, next?: string): HttpError {
  return new HttpError(400, 'invalid-input', detail, { next })
}

/** Reads the `Idempotency-Key`, with or without quotes. */
export function idempotencyKey(request: Request): string | undefined {
  const header = request.headers.get('idempotency-key')
  if (header === null) return undefined
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw wrong('The Idempotency-Key is not 1 to 255 visible characters.')
}
