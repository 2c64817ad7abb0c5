// The fields of a question over HTTP.
import { type Depth, depthNamed, depths } from '../../handoff/index-for-stored-answers.js'
import { wrong } from '../http/parse-request.js'

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
