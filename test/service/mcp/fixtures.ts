// The tools, prompts and resources that the conformance suite calls by name, added to our own server and served as our functions are.
import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  inputResponse,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { serve } from '../../../src/service/http/http-function.js'
import { schemaOf } from '../../../src/service/mcp/schemas.js'
import { createMcpServer } from '../../../src/service/mcp/server.js'
import type { McpSession } from '../../../src/service/mcp/session.js'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const image = { type: 'image', data: pixel, mimeType: 'image/png' } as const
const text = (words: string) => ({ type: 'text', text: words }) as const
const said = (words: string) => ({ content: [text(words)] })
const resource = (uri: string, words: string, mimeType = 'text/plain') =>
  ({ type: 'resource', resource: { uri, mimeType, text: words } }) as const
const object = (properties: Record<string, unknown>) =>
  schemaOf<Record<string, never>>({ type: 'object', properties, required: Object.keys(properties) })
const asked = (name: string, type: string) => ({
  type: 'object' as const,
  properties: { [name]: { type } } as never,
  required: [name],
})
const elicit = (message: string, name: string, type = 'string') =>
  inputRequired.elicit({ message, requestedSchema: asked(name, type) })
const sample = (question: string) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: text(question) }], maxTokens: 100 })

/** What a client with these capabilities can be asked. */
function asksFor({ mcpReq }: ServerContext, requests: InputRequests): InputRequests {
  const { envelope } = mcpReq as unknown as { envelope?: Record<string, unknown> }
  const capabilities = envelope?.['io.modelcontextprotocol/clientCapabilities'] as Record<string, unknown> | undefined
  const known = { 'elicitation/create': 'elicitation', 'sampling/createMessage': 'sampling', 'roots/list': 'roots' }
  return Object.fromEntries(
    Object.entries(requests).filter(([, { method }]) => capabilities?.[known[method as keyof typeof known]]),
  )
}

const state = createRequestStateCodec<string>({ key: 'a key of the fixtures, of 32 bytes or more' })

/** The suite wants each tool and prompt described. */
const described = (description: string) => ({ description })

function addContent(server: McpServer): void {
  const contents = {
    test_simple_text: [text('A simple text.')],
    test_image_content: [image],
    test_audio_content: [{ type: 'audio', data: silence, mimeType: 'audio/wav' } as const],
    test_embedded_resource: [resource('test://embedded-resource', 'An embedded resource.')],
    test_multiple_content_types: [
      text('Several kinds:'),
      image,
      resource('test://mixed-content-resource', '{}', 'application/json'),
    ],
  }
  for (const [name, content] of Object.entries(contents))
    server.registerTool(name, described('Returns content'), () => ({ content }))
  server.registerTool('test_error_handling', described('Fails'), () => {
    throw new Error('This tool fails.')
  })
  for (const name of ['test_tool_with_logging', 'test_logging_tool'])
    server.registerTool(name, described('Logs'), async ({ mcpReq }) => {
      for (const step of ['begins', 'goes on', 'ends']) await mcpReq.log('info', step)
      return said('logged')
    })
  server.registerTool('test_tool_with_progress', described('Reports progress'), async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [0, 50, 100])
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
    return said('done')
  })
}

/** Tools that ask the client something before they answer. */
function addQuestions(server: McpServer): void {
  const once = (name: string, requests: InputRequests, withState = false) =>
    server.registerTool(name, described('Asks the client'), async (context) => {
      const known = context.mcpReq.requestState<string>()
      const answers = context.mcpReq.inputResponses
      const isAnswered = Object.keys(requests).every((key) => inputResponse(answers, key).kind !== 'missing')
      if (isAnswered && (!withState || known === name)) return said(`state-ok ${JSON.stringify(answers)}`)
      const inputRequests = asksFor(context, requests)
      return inputRequired({ inputRequests, ...(withState ? { requestState: await state.mint(name, context) } : {}) })
    })
  const name = elicit('What is your name?', 'name')
  const confirm = elicit('Please confirm', 'ok', 'boolean')
  const roots = inputRequired.listRoots()
  once('test_input_required_result_elicitation', { user_name: name })
  once('test_input_required_result_sampling', { capital_question: sample('What is the capital of France?') })
  once('test_input_required_result_list_roots', { client_roots: roots })
  once('test_input_required_result_request_state', { confirm }, true)
  once('test_input_required_result_tampered_state', { confirm }, true)
  once('test_input_required_result_capabilities', { user_name: name, greeting: sample('Greet') })
  const several = { user_name: name, greeting: sample('Greet'), client_roots: roots }
  once('test_input_required_result_multiple_inputs', several, true)
  once('test_streaming_elicitation', { user_name: name })
  server.registerTool('test_missing_capability', described('Asks whether or not the client can be asked'), () =>
    inputRequired({ inputRequests: { greeting: sample('Greet') } }),
  )
  server.registerTool('test_input_required_result_multi_round', described('Asks twice'), async (context) => {
    const round = context.mcpReq.requestState<string>()
    if (round === 'second') return said('done')
    const isSecond = round === 'first'
    const inputRequests = isSecond ? { step2: elicit('Which colour?', 'color') } : { step1: name }
    return inputRequired({ inputRequests, requestState: await state.mint(isSecond ? 'second' : 'first', context) })
  })
}

function addPrompts(server: McpServer): void {
  const user = (content: ReturnType<typeof text> | typeof image | ReturnType<typeof resource>) =>
    ({ role: 'user', content }) as const
  const plain = described('A prompt')
  server.registerPrompt('test_simple_prompt', plain, () => ({ messages: [user(text('A prompt.'))] }))
  server.registerPrompt('test_prompt_with_image', plain, () => ({ messages: [user(image), user(text('Look at it.'))] }))
  const words = { type: 'string' }
  server.registerPrompt(
    'test_prompt_with_arguments',
    { ...plain, argsSchema: object({ arg1: words, arg2: words }) },
    ({ arg1, arg2 }) => ({ messages: [user(text(`arg1='${arg1}', arg2='${arg2}'`))] }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { ...plain, argsSchema: object({ resourceUri: words }) },
    ({ resourceUri }) => ({ messages: [user(resource(String(resourceUri), 'Embedded.')), user(text('Read it.'))] }),
  )
  server.registerPrompt('test_input_required_result_prompt', plain, ({ mcpReq }) => {
    const accepted = acceptedContent(mcpReq.inputResponses, 'user_context')
    if (accepted) return { messages: [user(text(JSON.stringify(accepted)))] }
    return inputRequired({ inputRequests: { user_context: elicit('Which context?', 'context') } })
  })
}

function addResources(server: McpServer): void {
  const about = { mimeType: 'text/plain' }
  const read = (uri: URL, words: string) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: words }] })
  server.registerResource('static-text', 'test://static-text', about, (uri) => read(uri, 'A text.'))
  server.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: pixel }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, about, (uri, { id }) => read(uri, `Data of ${id}`))
}

/** A function as `api/mcp` is one, without a caller: nothing that the suite calls asks for one. */
export const fixtureFunction = () =>
  serve(
    {
      async POST(exchange) {
        const session = { run: (call) => call(exchange) } as McpSession
        const handler = createMcpHandler(() => {
          const server = createMcpServer(session)
          server.server.registerCapabilities({ logging: {}, completions: {} })
          // An option of the library, which our server does not need: it asks clients nothing.
          Object.assign(server.server, { _requestStateVerify: state.verify })
          addContent(server)
          addQuestions(server)
          addPrompts(server)
          addResources(server)
          server.server.setRequestHandler('completion/complete', () => ({ completion: { values: [] } }))
          return server
        })
        return handler.fetch(exchange.request)
      },
    },
    { name: 'mcp', seconds: 60, corsOrigins: () => [], log: () => {} },
  )
