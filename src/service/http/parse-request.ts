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

/** Fields that are texts, each with the most characters that it may have. */
const texts = {
  repository: 400,
  run: 200,
  commit: 200,
  ref: 1_000,
  question: 500_000,
  thread: 400,
  after: 32,
  model: 200,
  depth: 20,
}
const flags = ['fresh', 'comment'] as const
type Fields = { [K in keyof typeof texts]?: string } & { [K in (typeof flags)[number]]?: boolean } & {
  pull?: unknown
  compareWith?: unknown
}

/** Checks the shape of a question. The workflow checks its meaning. */
export function readAsk(value: unknown): AskBody {
  const body = fieldsOf(value, 'The body', [...Object.keys(texts), 'pull', 'compareWith', ...flags])
  const { repository, question, thread, after, model, fresh = false, comment = false } = body
  if (repository === undefined || question === undefined) throw wrong('`repository` and `question` are needed.')
  const name = readName(body, 'says what is asked about')
  const compareWith =
    body.compareWith === undefined
      ? undefined
      : readName(fieldsOf(body.compareWith, '`compareWith`', names), 'says what it is compared with')
  const pull = body.pull as number | undefined
  if (after !== undefined && !/^[0-9a-f]{32}$/.test(after)) throw wrong('`after` is not the id of an answer.')
  if (after !== undefined && thread !== undefined) throw wrong('Either `thread` or `after`, not both.')
  const depth = body.depth === undefined ? undefined : depthNamed(body.depth)
  if (body.depth !== depth) throw wrong('`depth` is not known.', `There are ${depths.join(', ')}.`)
  if (comment && pull === undefined) throw wrong('`comment` needs `pull`: where to write it.')
  return { repository, name, question, fresh, comment, compareWith, pull, thread, after, model, depth }
}

/** `{ "useful": true }`. */
export function readFeedback(value: unknown): boolean {
  const { useful } = fieldsOf(value, 'The body', ['useful']) as { useful?: unknown }
  if (typeof useful === 'boolean') return useful
  throw wrong('`useful` is needed: true or false.')
}

function fieldsOf(value: unknown, what: string, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(`${what} is not an object.`)
  for (const [name, field] of Object.entries(value)) {
    if (!known.includes(name)) {
      const said = JSON.stringify(name.slice(0, 40))
      throw wrong(`There is no field ${said} in ${what.toLowerCase()}.`, `There are ${known.join(', ')}.`)
    }
    const most = texts[name as keyof typeof texts]
    if (most !== undefined && !isText(field, most))
      throw wrong(`\`${name}\` is not a text of at most ${most.toLocaleString('en-US')} characters.`)
    if (flags.some((flag) => flag === name) && typeof field !== 'boolean')
      throw wrong(`\`${name}\` is not true or false.`)
  }
  return value
}

const isText = (value: unknown, most: number) =>
  typeof value === 'string' && value.length <= most && value.isWellFormed() && !value.includes('\0')

function readName({ run, commit, ref, pull }: Fields, saying: string): AskedName {
  const given = [run, commit, ref, pull].filter((one) => one !== undefined)
  if (given.length !== 1) throw wrong(`Exactly one of \`run\`, \`commit\`, \`ref\` and \`pull\` ${saying}.`)
  if (run !== undefined) return { run }
  if (commit !== undefined) return { commit }
  return { ref: ref === undefined ? pullRef(pull) : fullRef(ref) }
}

export function pullRef(pull: unknown): string {
  if (typeof pull === 'number' && Number.isSafeInteger(pull) && pull > 0 && pull < 1e10) return `refs/pull/${pull}`
  throw wrong('`pull` is not the number of a pull request.')
}

/** Accepts the short name of a branch. `HEAD` stands for the default branch. */
export function fullRef(ref: string): string {
  return ref === 'HEAD' || ref.startsWith('refs/') ? ref : `refs/heads/${ref}`
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
