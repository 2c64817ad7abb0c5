// What the tools take and return, as JSON Schema.
import { fromJsonSchema, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { type Depth, depths, lazy } from '../../handoff/index-for-stored-answers.js'
import { schemas } from '../openapi/schemas.js'

type Schema = Record<string, unknown>

/** Compiled when the first call is checked. */
export function schemaOf<T>(schema: Schema): StandardSchemaWithJSON<T, T> {
  const compiled = lazy(async () => fromJsonSchema<T>(schema))
  const json = () => schema
  return {
    '~standard': {
      version: 1,
      vendor: 'handoff',
      validate: async (value) => (await compiled())['~standard'].validate(value),
      jsonSchema: { input: json, output: json },
    },
  }
}

/** Results are described and not checked again: tests compare them with their schemas. */
function describe(schema: Schema): StandardSchemaWithJSON {
  const json = () => schema
  return {
    '~standard': {
      version: 1,
      vendor: 'handoff',
      validate: (value) => ({ value }),
      jsonSchema: { input: json, output: json },
    },
  }
}

function object(properties: Record<string, Schema>, required: string[]): Schema {
  return { type: 'object', properties, required, additionalProperties: false }
}

const text = (maxLength: number, description: string): Schema => ({
  type: 'string',
  minLength: 1,
  maxLength,
  description,
})
const repository = text(400, 'The repository, as owner/name')
const ref = text(
  1_000,
  'A branch, `#12` for a pull request, a full commit id or a run id; the default branch when absent',
)
const line: Schema = { type: 'integer', minimum: 1, maximum: 100_000_000 }

interface OfRun {
  repository: string
  ref?: string
}

/** DeepWiki calls the repository `repoName`. */
export type OfRunOrRepoName = Partial<OfRun> & { repoName?: string | string[] }

const repoName: Schema = {
  oneOf: [repository, { type: 'array', items: repository, minItems: 1, maxItems: 1 }],
  description: 'Another name of `repository`',
}

const ofEither = (properties: Record<string, Schema>, required: string[]): Schema => ({
  ...object({ repository, repoName, ref, ...properties }, required),
  oneOf: [{ required: ['repository'] }, { required: ['repoName'] }],
})

export type AskInput = OfRunOrRepoName & {
  question: string
  compareWith?: string
  thread?: string
  model?: string
  depth?: Depth
}

export const askInput = schemaOf<AskInput>(
  ofEither(
    {
      question: text(4_000, 'A question about the code'),
      compareWith: text(1_000, 'An earlier branch, commit or run: the question is about what changed since'),
      thread: text(400, 'Questions with the same thread know of each other'),
      model: text(200, 'One of the models that are offered here'),
      depth: {
        enum: depths,
        description: 'How much may be read for the answer, and what it may cost; `normal` when absent',
      },
    },
    ['question'],
  ),
)

export const ofRunInput = schemaOf<OfRunOrRepoName>(ofEither({}, []))

export type RunsInput = { repository?: string; limit?: number; cursor?: string }

export const runsInput = schemaOf<RunsInput>(
  object(
    {
      repository: text(400, 'owner/name; the repositories themselves when absent'),
      limit: { type: 'integer', minimum: 1, maximum: 100, description: '20 when absent' },
      cursor: text(500, '`next` of the page before'),
    },
    [],
  ),
)

export type FindInput = OfRun & { query: string }

export const findInput = schemaOf<FindInput>(
  object({ repository, ref, query: text(4_000, 'Words, names or a question to look for') }, ['repository', 'query']),
)

export type LinesInput = OfRun & { path: string; from?: number; to?: number }

export const linesInput = schemaOf<LinesInput>(
  object({ repository, ref, path: text(8_192, 'A file of the commit'), from: line, to: line }, ['repository', 'path']),
)

// ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const answer = schemas['ListedAnswer'] as { properties: Record<string, Schema> }
const { id, run, commit, citations, markdown: _markdown, seconds: _seconds, ...more } = answer.properties
const citation = (citations as { items: { properties: Record<string, Schema>; required: string[] } }).items
const plain: Schema = { type: 'string' }
const ofRun = { repository: plain, run: run!, commit: commit! }

export const answerOutput = describe({
  ...object(
    {
      ...more,
      ...ofRun,
      id: id!,
      status: { enum: ['done', 'running'], description: '`running`: call the tool again with the same arguments' },
      citations: {
        type: 'array',
        items: {
          ...citation,
          properties: { ...citation.properties, uri: { type: 'string', description: 'A resource with these lines' } },
        },
      },
    },
    ['status', 'id', 'repository', 'run', 'commit', 'question', 'self'],
  ),
})

export const summaryOutput = describe(object({ ...ofRun, summary: plain }, ['repository', 'run', 'commit', 'summary']))

export const runsOutput = describe(
  object(
    {
      repositories: { type: 'array', items: plain },
      runs: { type: 'array', items: schemas['Run'] as Schema },
      next: plain,
    },
    [],
  ),
)

const lines = object(
  {
    path: plain,
    blob: plain,
    from: line,
    to: line,
    text: { type: 'string', description: 'The lines with their numbers' },
    uri: { type: 'string', description: 'A resource with these lines' },
    url: { type: ['string', 'null'], description: 'Their address on the git host' },
  },
  ['path', 'blob', 'from', 'to', 'text', 'uri', 'url'],
)

export const linesOutput = describe(
  object({ ...ofRun, lines: { type: 'array', items: lines }, searched: { type: 'array', items: plain } }, [
    'repository',
    'run',
    'commit',
    'lines',
  ]),
)
