// The OpenAPI description of the service. A test compares it with the handlers' responses.
import { exampleAnswer, exampleQuestion } from './examples.js'
import { schemas } from './schemas.js'

type Part = Record<string, unknown>

const schema = (name: string): Part => ({ $ref: `#/components/schemas/${name}` })
const json = (name: string, description: string, headers: string[] = [], example?: unknown): Part => ({
  description,
  content: { 'application/json': { schema: schema(name), ...(example === undefined ? {} : { example }) } },
  ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers.map((one) => [one, header])) }),
})
const header: Part = { schema: { type: 'string' } }

const problems: Record<number, string> = {
  400: 'What was sent makes no sense.',
  401: 'The caller is not authenticated, or the session has ended.',
  403: 'The token may not see this.',
  404: 'There is no such thing.',
  405: 'Another method is wanted; see Allow.',
  406: 'The answer does not come in this form.',
  409: 'Not now: the same request is being answered, or the run is not complete.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The Idempotency-Key stands for another question.',
  429: 'The caller has spent the budget of the day; see Retry-After.',
  500: 'A bug of ours.',
  501: 'What is stored was written by a newer handoff.',
  502: 'The sandbox, the directory, the model or GitHub failed.',
  503: 'No sandbox is free, or a setting is missing; see Retry-After.',
  504: 'Time ran out.',
  507: 'The directory has no room.',
}

function errorResponses(...statuses: number[]): Part {
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      { description: problems[status], content: { 'application/problem+json': { schema: schema('Problem') } } },
    ]),
  )
}

const query = (name: string, required: boolean, description: string, type = 'string'): Part => ({
  name,
  in: 'query',
  required,
  description,
  schema: { type },
})
const inPath = (name: string, description: string): Part => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
})
const run = inPath('run', 'The id of a run, as `run` of an answer or of the list of runs')
const answerId = inPath('answer', 'The id of an answer')
const inHeader = (name: string, description: string): Part => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
})

const repository = query('repository', true, 'owner/name')
const paging = [
  query('limit', false, '1 to 100; 20 when absent', 'integer'),
  query('cursor', false, '`next` of the page before'),
]
/** Errors of each operation that reads the run directory. */
const upstreamErrors = [500, 502, 503, 504, 507]
const readErrors = errorResponses(400, 401, 403, 404, 405, 406, 409, 501, ...upstreamErrors)

const redirect: Part = {
  description: 'To the page that Location names',
  headers: { Location: header, 'Set-Cookie': header },
}
const authPaths: Part = {
  '/api/auth/login': {
    get: {
      operationId: 'beginSignIn',
      summary: 'Sign in with GitHub: open it in a browser',
      security: [{}],
      parameters: [query('return', false, 'the path of this service to come back to; the page itself when absent')],
      responses: { 302: redirect, ...errorResponses(403, 404, 405, 500, 502, 503, 504) },
    },
  },
  '/api/auth/callback': {
    get: {
      operationId: 'endSignIn',
      summary: 'Where GitHub sends the browser back to',
      description:
        'Sets the cookie of the session and leads back to the page. Where it fails, the address of the page has `signin` in its query: `denied`, `expired`, `suspended` or `failed`.',
      security: [{}],
      parameters: [
        query('state', true, 'as the sign-in began with'),
        query('code', false, 'from GitHub'),
        query('error', false, 'from GitHub'),
      ],
      responses: { 302: redirect, ...errorResponses(403, 404, 405, 500, 502, 503, 504) },
    },
  },
  '/api/auth/session': {
    get: {
      operationId: 'readSession',
      summary: 'Who is signed in; renews the session',
      security: [{}, { session: [] }],
      responses: {
        200: json('Session', 'Signed in or not', ['Set-Cookie']),
        ...errorResponses(405, 500, 502, 503, 504),
      },
    },
  },
  '/api/auth/logout': {
    post: {
      operationId: 'signOut',
      summary: 'Sign out: the session ends, and its token on GitHub too',
      security: [{ session: [] }],
      responses: { 204: { description: 'Signed out' }, ...errorResponses(403, 404, 405, 500, 502, 503, 504) },
    },
  },
}

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
            'Answers a question about a commit, with citations of lines that were checked. The same question again comes from the answer store. With `Accept: text/event-stream` the reply is a stream of events: `status`, `token` and `usage`, and at the end `answer` or `error`.',
          parameters: [
            inHeader('Prefer', '`respond-async`: the question is queued, and the reply is 202 at once'),
            inHeader('Idempotency-Key', 'names one question with `fresh`: the same key and question are answered once'),
          ],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schema('Question'), example: exampleQuestion } },
          },
          responses: {
            200: {
              description: 'The answer, or its events',
              headers: { 'Server-Timing': header, 'X-Request-Id': header },
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
        ...readOperation('readAnswer', 'One answer, or how far it is', 'AnswerInSomeState', [
          run,
          answerId,
          repository,
        ]),
        delete: {
          operationId: 'withdrawQuestion',
          summary: 'Take a question back that is being answered',
          description: 'Its sandbox ends. Only the caller that asked may do so.',
          parameters: [run, answerId, repository],
          responses: { 204: { description: 'Taken back' }, ...readErrors },
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
      ...authPaths,
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
      },
      schemas,
    },
  }
}

function readOperation(operationId: string, summary: string, name: string, parameters: Part[]): Part {
  const responses = {
    200: json(name, summary, ['Link', 'ETag']),
    304: { description: 'The same as the tag in If-None-Match' },
    ...readErrors,
  }
  return { get: { operationId, summary, parameters, responses } }
}
