// The Model Context Protocol as the official client speaks it, in both of its eras, against the built functions.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tokenFiles } from '../../support/token-files.js'
import { call, type Deployment, deploy, name, otherToken, post } from '../kit.js'
import { connect } from './kit.js'

let here: Deployment

beforeAll(async () => {
  here = await deploy()
}, 120_000)

afterAll(async () => {
  await here?.close()
})

test('lines that are found and read count as tokens of the caller, whose day may be spent', async () => {
  const budget = await here.another({ HANDOFF_CALLER_TOKENS: '400000' })
  await using client = await connect(budget.url, 'modern')
  const find = () => client.callTool({ name: 'find_lines', arguments: { repository: name, query: 'refreshToken' } })
  expect((await find()).isError).toBeUndefined()
  const { drive } = here.stack.clouds
  const [{ path } = { path: '' }] = drive.tree('/handoff/_service').filter((one) => one.path.endsWith('.json'))
  const state = JSON.parse(drive.readFile(path)?.toString() ?? '{}') as { tokens: number; reserved: unknown[] }
  expect(state.reserved).toEqual([])
  expect(state.tokens).toBeGreaterThan(20)
  drive.write(path, JSON.stringify({ ...state, tokens: 399_000 }))
  const machines = here.machines()
  const refused = await find()
  expect((refused.content as { text: string }[])[0]?.text).toContain('budget')
  expect({ isError: refused.isError, machines: here.machines() }).toEqual({ isError: true, machines })
})

const question = 'How is the token refreshed?'
const linesOf = (path: string) => (tokenFiles as Record<string, string>)[path]!.split('\n')

describe.each(['modern', 'legacy'] as const)('a client of the %s era', (era) => {
  test('finds the tools, an empty list of prompts, and the template of lines', async () => {
    await using client = await connect(here.url, era)
    const { tools } = await client.listTools()
    expect(tools.map((tool) => tool.name)).toEqual([
      ...['ask_question', 'read_summary', 'find_lines', 'read_lines', 'list_runs'],
      ...['read_wiki_structure', 'read_wiki_contents'],
    ])
    expect((await client.listPrompts()).prompts).toEqual([])
    expect((await client.listResources()).resources).toEqual([])
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1)
  })

  test('asks, and gets the answer that POST /api/ask gives, under the same id', async () => {
    await using client = await connect(here.url, era)
    const result = await client.callTool({ name: 'ask_question', arguments: { repository: name, question } })
    expect(result.isError).toBeUndefined()
    const other = await post(here.url, { repository: name, run: here.run.run, question })
    expect(result.structuredContent).toMatchObject({ id: other.body.id, status: 'done', text: other.body.text })
    expect(other.body.reused).toBe(true)
    const { citations } = result.structuredContent as { citations: { path: string; uri: string }[] }
    expect(citations.length).toBeGreaterThan(0)
  })

  test('says how much may be read for the answer, which is another answer for each depth', async () => {
    await using client = await connect(here.url, era)
    const asked = async (more: Record<string, unknown>) => {
      const about = { repository: name, question: 'What does requestToken return?', ...more }
      const result = await client.callTool({ name: 'ask_question', arguments: about })
      return { isError: result.isError, ...(result.structuredContent as { id: string; depth?: string }) }
    }
    const [deep, normal] = [await asked({ depth: 'deep' }), await asked({})]
    expect([deep.depth, normal.depth]).toEqual(['deep', undefined])
    expect(deep.id).not.toBe(normal.id)
    const about = { repository: name, run: here.run.run, question: 'What does requestToken return?', depth: 'deep' }
    expect((await post(here.url, about)).body).toMatchObject({ id: deep.id, depth: 'deep', reused: true })
    expect(await asked({ depth: 'bottomless' })).toMatchObject({ isError: true })
  })

  test('follows a citation to its lines', async () => {
    await using client = await connect(here.url, era)
    const asked = await client.callTool({ name: 'ask_question', arguments: { repoName: name, question } })
    const [citation] = (asked.structuredContent as { citations: { path: string; from: number; uri: string }[] })
      .citations
    const { contents } = await client.readResource({ uri: citation!.uri })
    const [content] = contents as { text: string; mimeType: string }[]
    const file = linesOf(citation!.path)
    expect(content!.text.split('\n')[0]).toBe(file[citation!.from - 1])
  })

  test('reads summary, headings and runs', async () => {
    await using client = await connect(here.url, era)
    const text = async (tool: string, more: Record<string, unknown>) => {
      const { content } = await client.callTool({ name: tool, arguments: more })
      return (content as { text: string }[])[0]!.text
    }
    const whole = await text('read_summary', { repository: name })
    expect(await text('read_wiki_contents', { repoName: name })).toBe(whole)
    expect(await text('read_wiki_structure', { repoName: [name] })).toMatch(/^# /)
    expect(await text('list_runs', {})).toBe(name)
    expect(await text('list_runs', { repository: name })).toContain(here.run.run)
  })

  test('finds and reads lines without a model', async () => {
    await using client = await connect(here.url, era)
    const before = here.stack.clouds.model.requests.length
    const found = await client.callTool({ name: 'find_lines', arguments: { repository: name, query: 'refresh token' } })
    const lines = (found.structuredContent as { lines: { path: string; from: number; to: number; text: string }[] })
      .lines
    expect(lines[0]!.path).toBe('src/token.ts')
    const read = await client.callTool({
      name: 'read_lines',
      arguments: { repository: name, path: 'src/token.ts', from: 1, to: 2, ref: 'main' },
    })
    const [first, second] = linesOf('src/token.ts')
    expect(read.structuredContent).toMatchObject({ lines: [{ from: 1, to: 2, text: `1\t${first}\n2\t${second}` }] })
    expect(here.stack.clouds.model.requests.length).toBe(before)
  })

  test('is reported in words what is wrong', async () => {
    await using client = await connect(here.url, era)
    const reported = async (tool: string, more: Record<string, unknown>) => {
      const { isError, content } = await client.callTool({ name: tool, arguments: more })
      return { isError, text: (content as { text: string }[])[0]!.text }
    }
    expect(await reported('read_summary', { repository: 'other/x' })).toEqual({
      isError: true,
      text: 'The token may not see this repository. Use a token that lists it, or have it added to HANDOFF_BEARERS.',
    })
    expect((await reported('read_lines', { repository: name, path: 'no/such.ts' })).text).toContain('no lines 1-400')
    expect((await reported('read_lines', { repository: name, path: 'src/token.ts', ref: 'none' })).text).toContain(
      'has no summary yet',
    )
    expect((await reported('ask_question', { question })).isError).toBe(true)
    await expect(client.readResource({ uri: 'handoff:///x' })).rejects.toThrow('not found')
  })
})

test('a client without a token learns where the metadata is, and finds it there', async () => {
  const refused = await call(here.url, '/api/mcp', { method: 'POST', token: null })
  expect(refused.status).toBe(401)
  const address = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1]
  expect(await (await fetch(address!)).json()).toEqual({
    resource: `${here.url}/api/mcp`,
    resource_name: 'handoff',
    bearer_methods_supported: ['header'],
  })
  await expect(connect(here.url, 'modern', otherToken).then((client) => client.listTools())).resolves.toBeDefined()
})
