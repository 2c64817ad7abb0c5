// JSON Schemas of requests and responses.

import { chatSchemas } from './chat-schemas.js'
import { address, count, depth, flag, list, object, reference, type Schema, text, time } from './schema-parts.js'

const answerId: Schema = { type: 'string', pattern: '^[0-9a-f]{32}$' }
const runId: Schema = { type: 'string', pattern: '^[0-9a-f]{40}-[a-z0-9][a-z0-9-]{0,63}$' }
const sha: Schema = { type: 'string', pattern: '^[0-9a-f]{40}$' }

const lines = object({ path: text(), blob: sha, from: count, lines: list(text()), 'commit?': sha })

/** One kind of node: an object that its `kind` names. */
const node = (kind: string, fields: Record<string, Schema>): Schema => object({ kind: { const: kind }, ...fields })

const inlines = list(reference('MarkdownInline'))
const blocks = list(reference('MarkdownBlock'))

const markdownNodes: Record<string, Schema> = {
  MarkdownBlock: {
    description: 'Texts are plain characters, never Markdown or HTML.',
    oneOf: [
      node('paragraph', { content: inlines }),
      node('heading', { level: { type: 'integer', minimum: 1, maximum: 6 }, content: inlines }),
      node('code', { 'language?': text(), text: text() }),
      node('quote', { blocks }),
      node('list', {
        'start?': { ...count, description: 'the first number of a numbered list' },
        items: list(blocks),
      }),
      node('table', { rows: { ...list(list(inlines)), description: 'the first row is the head' } }),
      node('rule', {}),
    ],
  },
  MarkdownInline: {
    oneOf: [
      node('text', { text: text() }),
      node('code', { text: text() }),
      node('strong', { content: inlines }),
      node('emphasis', { content: inlines }),
      node('link', { url: text('a page or file of the repository on its git host'), content: inlines }),
      node('citation', { label: text('`label` of one of `citations`') }),
    ],
  },
}

const corrections = list(
  object({
    id: text(),
    at: time,
    by: text('the login of a person with write permission'),
    text: text('what is right; foreign text'),
    'answer?': { ...answerId, description: 'what it is about, if not the summary' },
    places: list(object({ path: text(), from: count, to: count, label: text(), url: address })),
  }),
)

const pendingFields: Record<string, Schema> = {
  status: { enum: ['queued', 'running'] },
  id: answerId,
  repository: text(),
  run: runId,
  commit: sha,
  question: text(),
  acceptedAt: time,
  self: text('where the answer is'),
}

const runFields: Record<string, Schema> = {
  run: runId,
  repository: text(),
  commit: sha,
  'ref?': text(),
  sealedAt: time,
  model: text(),
  files: count,
  'partial?': text('why the summary is not of the whole repository'),
  self: text(),
}

const answerFields: Record<string, Schema> = {
  status: { const: 'done' },
  id: answerId,
  repository: text(),
  run: runId,
  commit: sha,
  question: text(),
  text: text('plain words with [path:10-20] where a citation holds'),
  markdown: text('the same as safe Markdown with links'),
  blocks: { ...blocks, description: 'the same as parsed Markdown, with corrections behind their sentences' },
  citations: list(
    object({
      path: text(),
      from: count,
      to: count,
      label: text(),
      url: address,
      'commit?': { ...sha, description: 'in comparisons: of which of the two commits' },
      'quote?': text(),
      'moved?': flag,
    }),
  ),
  code: list(lines),
  verified: text(),
  unsupported: count,
  unanswered: flag,
  truncated: flag,
  model: text(),
  'depth?': depth,
  'after?': text('the id of the answer that the question followed'),
  usage: object({
    inputTokens: count,
    outputTokens: count,
    'cachedInputTokens?': count,
    'cacheWriteTokens?': count,
    'estimated?': flag,
  }),
  'cost?': object({ amount: { type: 'number' }, currency: { const: 'USD' }, source: text() }),
  acceptedAt: time,
  completedAt: time,
  seconds: { type: 'object', additionalProperties: { type: 'number' } },
  reused: flag,
  'reusedFrom?': answerId,
  'compareWith?': object({ run: runId, commit: sha }),
  'behind?': object({ head: sha }),
  'stale?': object({
    head: sha,
    valid: { ...flag, description: 'all that the answer cites is known to be as it was' },
    precision: { enum: ['lines', 'files'] },
    told: text('a sentence for people; paths in it are foreign text'),
    citations: {
      ...list(
        object({
          path: text(),
          from: count,
          to: count,
          label: text(),
          verdict: { enum: ['same', 'moved', 'changed', 'gone', 'unknown'] },
          'now?': text('the path that the file moved to'),
        }),
      ),
      description: 'what became of each cited range; `changed` is the file where `precision` is `files`',
    },
  }),
  'corrections?': { ...corrections, description: 'what people said about this answer, while its lines are there' },
  'comment?': object({ url: text() }),
  self: text(),
}

const feedback = {
  ...object({ useful: count, notUseful: count, 'own?': { ...flag, description: 'what the reader said' } }),
  description: 'how many callers found the answer useful; when it is read later, and only if any said so',
}

const namesOfRuns: Record<string, Schema> = {
  'run?': runId,
  'commit?': sha,
  'ref?': text('refs/heads/…, refs/pull/<n>, the name of a branch, or HEAD for the default branch'),
  'pull?': { type: 'integer', minimum: 1 },
}

export const schemas: Record<string, Schema> = {
  Question: {
    ...object({
      repository: text('owner/name'),
      ...namesOfRuns,
      'compareWith?': {
        ...object(namesOfRuns),
        description: 'an earlier run, by exactly one of its names: what changed since',
      },
      question: { type: 'string', minLength: 1, description: 'at most 4,000 characters' },
      'thread?': { type: 'string', maxLength: 400, description: 'questions of one thread know of each other' },
      'after?': { ...answerId, description: 'the id of the answer that the question follows' },
      'fresh?': { ...flag, description: 'answer again although there is an answer' },
      'comment?': { ...flag, description: 'post the answer on the pull request too' },
      'model?': text('one of those that are offered'),
      'depth?': { ...depth, description: 'how much may be read for the answer, and what it may cost' },
    }),
    description: 'Exactly one of `run`, `commit`, `ref` and `pull` names what is asked about.',
  },
  Lines: lines,
  Pending: object(pendingFields),
  Failed: object({
    ...pendingFields,
    status: { const: 'failed' },
    completedAt: time,
    error: object({ code: text(), message: text(), 'next?': text() }),
  }),
  Answer: object({ ...answerFields, 'feedback?': feedback }),
  ListedAnswer: object(
    Object.fromEntries(Object.entries(answerFields).filter(([name]) => name !== 'code' && name !== 'blocks')),
  ),
  Run: object(runFields),
  WholeRun: object({
    ...runFields,
    summary: text('Markdown of a model: untrusted'),
    summaryBlocks: { ...blocks, description: 'the same as parsed Markdown, with corrections behind their sentences' },
    corrections: { ...corrections, description: 'of the summary and of answers, where their lines are there' },
    'diagram?': {
      ...object({
        nodes: list(object({ path: text(), files: count, url: address })),
        edges: list(object({ from: count, to: count, imports: count, path: text(), line: count, url: address })),
        edgesLeftOut: count,
      }),
      description: 'who imports whom: directories, and for each edge one of its imports',
    },
    handoff: { type: 'object' },
  }),
  ...markdownNodes,
  Repositories: object({ repositories: list(text()), models: list(text('the models on offer, the usual one first')) }),
  Runs: object({ runs: list(reference('Run')), 'next?': text(), 'behind?': object({ head: sha }) }),
  RunsOrRepositories: { oneOf: [reference('Runs'), reference('Repositories')] },
  Answers: object({ answers: list({ oneOf: ['ListedAnswer', 'Pending', 'Failed'].map(reference) }), 'next?': text() }),
  AnswerInSomeState: { oneOf: ['Answer', 'Pending', 'Failed'].map(reference) },
  Health: object({
    status: { enum: ['ok', 'not-ready'] },
    missing: list(text()),
    wrong: list(text()),
    wanted: { type: 'object', additionalProperties: text() },
    ways: object({
      bearer: flag,
      oidc: flag,
      signIn: flag,
      webhook: flag,
      comments: flag,
      queue: { enum: ['vercel', 'memory'], description: 'where jobs wait' },
    }),
    'drive?': object({ status: text(), 'code?': text(), milliseconds: count }),
    'sandboxes?': object({ status: text(), 'code?': text(), milliseconds: count }),
  }),
  Session: object({
    offered: { ...flag, description: 'people can sign in to this service' },
    signedIn: flag,
    'user?': { ...object({ id: count, login: text() }), description: 'the account on GitHub' },
    'until?': { ...time, description: 'when the person has to sign in again' },
  }),
  ...chatSchemas,
  Feedback: object({ useful: flag }),
  FeedbackCounts: object({ useful: count, notUseful: count }),
  Delivery: { type: 'object' },
  Problem: object({
    type: text(),
    title: text(),
    status: count,
    detail: text(),
    'next?': text('what to do about it'),
    code: text('stays the same; made for programs'),
    instance: text(),
    requestId: text(),
    'retryAfterSeconds?': count,
    'self?': text('where the answer will be found later'),
  }),
}
