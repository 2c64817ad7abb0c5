// What the tools take and return, as JSON Schema.
import { fromJsonSchema, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { type Depth, depths } from '../../handoff/index-for-stored-answers.js'
import { lazy } from '../../handoff/util/lazy.js'
import { address, list, object, text as plain, type Schema } from '../openapi/schema-parts.js'
import { schemas } from '../openapi/schemas.js'

type Validate<T> = StandardSchemaWithJSON<T, T>['~standard']['validate']

function standard<T>(schema: Schema, validate: Validate<T>): StandardSchemaWithJSON<T, T> {
  const json = () => schema
  return { '~standard': { version: 1, vendor: 'handoff', validate, jsonSchema: { input: json, output: json } } }
}

/** Compiled when the first call is checked. */
export function schemaOf<T>(schema: Schema): StandardSchemaWithJSON<T, T> {
  const compiled = lazy(async () => fromJsonSchema<T>(schema))
  return standard<T>(schema, async (value) => (await compiled())['~standard'].validate(value))
}

/** Results are described and not checked again: tests compare them with their schemas. */
const describe = (schema: Schema) => standard<unknown>(schema, (value) => ({ value }))

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

const ofEither = (fields: Record<string, Schema>): Schema => ({
  ...object({ 'repository?': repository, 'repoName?': repoName, 'ref?': ref, ...fields }),
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
  ofEither({
    question: text(4_000, 'A question about the code'),
    'compareWith?': text(1_000, 'An earlier branch, commit or run: the question is about what changed since'),
    'thread?': text(400, 'Questions with the same thread know of each other'),
    'model?': text(200, 'One of the models that are offered here'),
    'depth?': {
      enum: depths,
      description: 'How much may be read for the answer, and what it may cost; `normal` when absent',
    },
  }),
)

export const ofRunInput = schemaOf<OfRunOrRepoName>(ofEither({}))

export type RunsInput = { repository?: string; limit?: number; cursor?: string }

export const runsInput = schemaOf<RunsInput>(
  object({
    'repository?': text(400, 'owner/name; the repositories themselves when absent'),
    'limit?': { type: 'integer', minimum: 1, maximum: 100, description: '20 when absent' },
    'cursor?': text(500, '`next` of the page before'),
  }),
)

export type FindInput = OfRun & { query: string }

export const findInput = schemaOf<FindInput>(
  object({ repository, 'ref?': ref, query: text(4_000, 'Words, names or a question to look for') }),
)

export type LinesInput = OfRun & { path: string; from?: number; to?: number }

export const linesInput = schemaOf<LinesInput>(
  object({ repository, 'ref?': ref, path: text(8_192, 'A file of the commit'), 'from?': line, 'to?': line }),
)

// ── results ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const answer = schemas['ListedAnswer'] as { properties: Record<string, Schema> }
const { run, commit, citations, markdown: _markdown, seconds: _seconds, ...more } = answer.properties
const { items: citation } = citations as { items: { properties: Record<string, Schema> } }
const ofRun = { repository: plain(), run: run!, commit: commit! }
const alwaysThere = ['id', 'question', 'self']

export const answerOutput = describe(
  object({
    ...Object.fromEntries(
      Object.entries(more).map(([name, field]) => [alwaysThere.includes(name) ? name : `${name}?`, field]),
    ),
    ...ofRun,
    status: { enum: ['done', 'running'], description: '`running`: call the tool again with the same arguments' },
    'citations?': list({
      ...citation,
      properties: { ...citation.properties, uri: plain('A resource with these lines') },
    }),
  }),
)

export const summaryOutput = describe(object({ ...ofRun, summary: plain() }))

export const runsOutput = describe(
  object({ 'repositories?': list(plain()), 'runs?': list(schemas['Run'] as Schema), 'next?': plain() }),
)

const lines = object({
  path: plain(),
  blob: plain(),
  from: line,
  to: line,
  text: plain('The lines with their numbers'),
  uri: plain('A resource with these lines'),
  url: { ...address, description: 'Their address on the git host' },
})

export const linesOutput = describe(object({ ...ofRun, lines: list(lines), 'searched?': list(plain()) }))
