// The OpenAPI description of the service. A test compares it with the handlers' responses.
import { authPaths } from './auth-paths.js'
import { exampleAnswer, exampleQuestion } from './examples.js'
import { errorResponses, header, inHeader, inPath, json, type Part, query } from './parts.js'
import { protocolPaths } from './protocol-paths.js'
import { reference as schema } from './schema-parts.js'
import { schemas } from './schemas.js'

const run = inPath('run', 'The id of a run, as `run` of an answer or of the list of runs')
const answerId = inPath('answer', 'The id of an answer')

const lastEventId = inHeader(
  'Last-Event-ID',
  'The id of the last event that was seen: a stream of events continues after it',
)

const repository = query('repository', true, 'owner/name')
const paging = [
  query('limit', false, '1 to 100; 20 when absent', 'integer'),
  query('cursor', false, '`next` of the page before'),
]
/** Errors of each operation that reads the run directory. */
const upstreamErrors = [500, 502, 503, 504, 507]
const readErrors = errorResponses(400, 401, 403, 404, 405, 406, 409, 501, ...upstreamErrors)

export function openApiDocument(origin: string): Part {
  return {
    openapi: '3.1.0',
    info: {
      title: 'handoff',
      version: '1',
      summary: 'Answers questions about a repository after the machine that read it is gone.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: origin }],
    security: [{ bearer: [] }, { session: [] }],
    paths: {
      '/api/ask': {
        post: {
          operationId: 'ask',
          summary: 'Ask a question',
          description:
            'Answers a question about a commit, with citations of lines that were checked. The same question again comes from the answer store. With `Accept: text/event-stream` the reply is a stream of events: `status`, `token` and `usage`, and at the end `answer` or `error`. The status `found` names the first place whose lines are proven, before the model is asked.',
          parameters: [
            inHeader('Prefer', '`respond-async`: the question is queued, and the reply is 202 at once'),
            lastEventId,
            inHeader('Idempotency-Key', 'names one question with `fresh`: the same key and question are answered once'),
          ],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schema('Question'), example: exampleQuestion } },
          },
          responses: {
            200: {
              description: 'The answer, or its events',
              headers: {
                'Server-Timing': header,
                'X-Request-Id': header,
                'RateLimit-Policy': header,
                RateLimit: header,
              },
              content: {
                'application/json': { schema: schema('Answer'), example: exampleAnswer },
                'text/event-stream': { schema: { type: 'string' } },
              },
            },
            202: json('Pending', 'Queued, or still at work; the answer will be at Location.', [
              'Location',
              'Retry-After',
            ]),
            ...errorResponses(400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429, 501, ...upstreamErrors),
          },
        },
      },
      '/api/runs': {
        get: {
          operationId: 'listRuns',
          summary: 'Repositories; the runs of one; or the run that answers for a branch or a pull request',
          parameters: [
            query('repository', false, 'owner/name'),
            query('ref', false, 'a branch'),
            query('pull', false, 'a pull request', 'integer'),
            ...paging,
          ],
          responses: { 200: json('RunsOrRepositories', 'A page', ['Link']), ...readErrors },
        },
      },
      '/api/runs/{run}': readOperation('readRun', 'One run, with its summary', 'WholeRun', [run, repository]),
      '/api/runs/{run}/answers': readOperation('listAnswers', 'What was asked about a run', 'Answers', [
        run,
        repository,
        ...paging,
      ]),
      '/api/runs/{run}/answers/{answer}': {
        ...readOperation(
          'readAnswer',
          'One answer, or how far it is; or its events, while it is being written',
          'AnswerInSomeState',
          [run, answerId, repository, lastEventId],
          { 'text/event-stream': { schema: { type: 'string' } } },
        ),
        delete: {
          operationId: 'withdrawQuestion',
          summary: 'Take a question back that is being answered',
          description: 'Its sandbox ends. Only the caller that asked may do so.',
          parameters: [run, answerId, repository],
          responses: { 204: { description: 'Taken back' }, ...readErrors },
        },
        patch: {
          operationId: 'giveFeedback',
          summary: 'Say whether an answer was useful',
          description: 'Kept beside the answer, one word of each caller; it counts in the budget of the caller.',
          parameters: [run, answerId, repository],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schema('Feedback'), example: { useful: true } } },
          },
          responses: { 200: json('FeedbackCounts', 'What callers said'), ...readErrors },
        },
      },
      '/api/runs/{run}/files': readOperation('readLines', 'Lines that an answer cites', 'Lines', [
        run,
        repository,
        query('path', true, 'a file of the commit'),
        query('from', true, 'first line', 'integer'),
        query('to', false, 'last line', 'integer'),
        query('answer', false, 'the answer that cites them'),
      ]),
      '/api/github': {
        post: {
          operationId: 'webhook',
          summary: 'The webhook of GitHub',
          security: [{ signature: [] }],
          requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
          responses: {
            200: json('Delivery', 'Seen, and nothing to do'),
            202: json('Delivery', 'Queued; the answer will be a comment'),
            ...errorResponses(400, 401, 405, 413, 415, ...upstreamErrors),
          },
        },
      },
      '/api/sandboxes': {
        post: {
          operationId: 'sandboxWebhook',
          summary: 'The lifecycle webhook of E2B',
          security: [{ e2bSignature: [] }],
          requestBody: { required: true, content: { 'application/json': { schema: { type: 'object' } } } },
          responses: {
            200: json('Delivery', 'Seen'),
            ...errorResponses(400, 401, 405, 413, ...upstreamErrors),
          },
        },
      },
      ...authPaths,
      ...protocolPaths,
      '/api/health': {
        get: {
          operationId: 'health',
          summary: 'Whether it has what it needs',
          security: [{}, { bearer: [] }],
          parameters: [
            query('deep', false, 'look at the directory and at the sandboxes too; needs a token that is not a job’s'),
          ],
          responses: {
            200: json('Health', 'Ready'),
            503: json('Health', 'Something is missing'),
            ...errorResponses(401, 403, 405, 406, 500, 502, 504),
          },
        },
      },
      '/api/openapi': {
        get: {
          operationId: 'openapi',
          summary: 'This description',
          security: [{}],
          responses: { 200: json('Delivery', 'OpenAPI 3.1'), ...errorResponses(405, 406, 500) },
        },
      },
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of this deployment, or of a job of GitHub Actions.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-handoff-session',
          description: 'A person who signed in. Only pages of the service itself may send it.',
        },
        signature: { type: 'apiKey', in: 'header', name: 'X-Hub-Signature-256' },
        e2bSignature: { type: 'apiKey', in: 'header', name: 'E2B-Signature' },
      },
      schemas,
    },
  }
}

function readOperation(
  operationId: string,
  summary: string,
  name: string,
  parameters: Part[],
  otherContent: Part = {},
): Part {
  const found = json(name, summary, ['Link', 'ETag'])
  const responses = {
    200: { ...found, content: { ...(found['content'] as Part), ...otherContent } },
    304: { description: 'The same as the tag in If-None-Match' },
    ...readErrors,
  }
  return { get: { operationId, summary, parameters, responses } }
}
