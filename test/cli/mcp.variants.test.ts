// `npm run mcp` as a client starts it: by the official client, over standard input and output, with emulators.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GitFolder, gitFolder } from '../support/git-folder.js'
import { tokenFiles } from '../support/token-files.js'

const root = new URL('../..', import.meta.url).pathname
let folder: GitFolder
let client: Client

beforeAll(async () => {
  folder = gitFolder()
  folder.commit(tokenFiles)
  client = new Client({ name: 'test', version: '1' })
  const args = ['--import', './src/build/ts-loader.mjs', 'src/cli/mcp.ts', folder.directory]
  const env = { PATH: process.env['PATH'] ?? '' }
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: root, env, stderr: 'pipe' }))
}, 60_000)

afterAll(async () => {
  await client?.close()
  folder?.[Symbol.dispose]()
})

test('it lists the tools at once, and a question waits for the summary', async () => {
  const { tools } = await client.listTools()
  expect(tools.length).toBe(7)
  const listed = await client.callTool({ name: 'list_runs', arguments: {} })
  const { repositories } = listed.structuredContent as { repositories: string[] }
  expect(repositories).toHaveLength(1)
  const question = 'How is the token refreshed?'
  const asked = { name: 'ask_question', arguments: { repository: repositories[0], question } }
  const { structuredContent } = await client.callTool(asked)
  expect(structuredContent).toMatchObject({ status: 'done', citations: expect.any(Array) })
}, 90_000)
