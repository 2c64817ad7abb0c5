// The addresses for OpenAI clients and for agents, as OpenAPI describes them. Their bodies are described by those protocols too.
import { errorResponses, inHeader, inPath, json, type Part, problems } from './parts.js'
import { reference as schema } from './schema-parts.js'

/** Errors in OpenAI's form. */
const openAiErrors = (...statuses: number[]): Part =>
  Object.fromEntries(statuses.map((status) => [String(status), json('ChatError', String(problems[status]))]))

const upstream = [500, 502, 503, 504, 507]
const common = [401, 403, 404, 405, 409, 501, ...upstream]

export const protocolPaths: Part = {
  '/v1/models': {
    get: {
      operationId: 'listModels',
      summary: 'Repositories, and their summarised branches and pull requests, as models of OpenAI clients',
      responses: { 200: json('ChatModels', 'owner/name and owner/name@ref'), ...openAiErrors(...common) },
    },
  },
  '/v1/models/{model}': {
    get: {
      operationId: 'readModel',
      summary: 'One of them',
      parameters: [inPath('model', 'owner/name@ref, with its slash as %2F')],
      responses: { 200: json('ChatModel', 'It can be asked about'), ...openAiErrors(400, ...common) },
    },
  },
  '/v1/chat/completions': {
    post: {
      operationId: 'chat',
      summary: 'Ask as OpenAI clients do',
      description:
        'The last message of the user is the question, the earlier ones are its thread. Citations are links in the text, and `annotations`. With `stream` the steps come as `reasoning_content`, and the words once their citations were checked.',
      requestBody: { required: true, content: { 'application/json': { schema: schema('ChatRequest') } } },
      responses: {
        200: {
          description: 'The answer, or its chunks',
          content: {
            'application/json': { schema: schema('ChatCompletion') },
            'text/event-stream': { schema: { type: 'string' } },
          },
        },
        ...openAiErrors(400, ...common, 413, 415, 429),
      },
    },
  },
  '/api/mcp': {
    post: {
      operationId: 'mcp',
      summary: 'The Model Context Protocol: one JSON-RPC message, or a list in its earlier revisions',
      parameters: [inHeader('MCP-Protocol-Version', 'the revision that the client speaks')],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { oneOf: [{ type: 'object' }, { type: 'array' }] } } },
      },
      responses: {
        200: {
          description: 'The result, or its messages',
          content: {
            'application/json': { schema: { oneOf: [{ type: 'object' }, { type: 'array' }] } },
            'text/event-stream': { schema: { type: 'string' } },
          },
        },
        202: { description: 'A notification was taken' },
        ...errorResponses(400, 401, 403, 405, 406, 413, 415, ...upstream),
      },
    },
  },
}
