// A client that is generated from the description, type-checked, and asks.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Deployment, deploy, name, root, token } from './kit.js'

let here: Deployment
let folder: string

beforeAll(async () => {
  here = await deploy()
  folder = await mkdtemp(join(tmpdir(), 'handoff-client-'))
}, 120_000)

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  await here?.close()
})

const run = promisify(execFile)
const modules = join(root, 'node_modules')

/** The generator speaks to TypeScript 5; the project itself has a later one. */
async function installGenerator(): Promise<string> {
  const own = join(folder, 'node_modules')
  await mkdir(join(own, '@redocly'), { recursive: true })
  await cp(join(modules, 'openapi-typescript'), join(own, 'openapi-typescript'), { recursive: true })
  await symlink(join(modules, '@vercel/node/node_modules/typescript'), join(own, 'typescript'))
  for (const needed of [
    '@redocly/openapi-core',
    'ansi-colors',
    'change-case',
    'parse-json',
    'supports-color',
    'yargs-parser',
  ])
    await symlink(join(modules, needed), join(own, needed))
  for (const used of ['openapi-fetch', 'openapi-typescript-helpers'])
    await symlink(join(modules, used), join(own, used))
  return join(own, 'openapi-typescript/bin/cli.js')
}

const program = `
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

const headers = { authorization: \`Bearer \${process.env['TOKEN']}\` }
const client = createClient<paths, \`application/\${string}\`>({ baseUrl: process.env['ADDRESS'] ?? '', headers })
const { data: listed } = await client.GET('/api/runs', { params: { query: {} } })
const repository = listed !== undefined && 'repositories' in listed ? listed.repositories[0] ?? '' : ''
const { data, error } = await client.POST('/api/ask', {
  body: { repository, ref: 'main', question: 'How is the token refreshed?' },
})
if (error !== undefined) throw new Error(error.detail)
if (data.status !== 'done') throw new Error(data.status)
const first: { path: string; from: number; url: string | null } | undefined = data.citations[0]
const { data: session } = await client.GET('/api/auth/session')
const params = {
  path: { run: data.run, answer: data.id },
  query: { repository },
  header: { 'Last-Event-ID': 'claim0-0' },
}
const { data: events } = await client.GET('/api/runs/{run}/answers/{answer}', {
  params,
  headers: { accept: 'text/event-stream' },
  parseAs: 'text',
})
const names = [...String(events).matchAll(/^event: (\\w+)/gm)].map((match) => match[1])
const { data: chat } = await client.POST('/v1/chat/completions', {
  body: { model: repository, messages: [{ role: 'user', content: 'How is the token refreshed?' }] },
})
const cited: string | undefined = chat?.choices[0]?.message.annotations[0]?.url_citation.title
const refused = await client.POST('/api/ask', { body: { repository: 'other/x', ref: 'main', question: 'x' } })
const offered: boolean | undefined = session?.offered
console.log(JSON.stringify({ repository, path: first?.path, code: refused.error?.code, names, cited, offered }))
`

test('it is generated, passes the type check, and asks', async () => {
  const generator = await installGenerator()
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await run(process.execPath, [generator, `${here.url}/api/openapi`, '-o', join(folder, 'schema.ts')], { cwd: folder })
  await writeFile(join(folder, 'client.ts'), program)
  const options = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'esnext',
    types: ['node'],
    skipLibCheck: true,
  }
  const compilerOptions = { ...options, typeRoots: [join(modules, '@types')] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['client.ts'] }))
  await run(join(modules, '.bin/tsc'), ['-p', folder], { cwd: folder }).catch(({ stdout }) => {
    throw new Error(stdout)
  })
  const env = { PATH: process.env['PATH'] ?? '', ADDRESS: here.url, TOKEN: token }
  const { stdout } = await run(process.execPath, [join(folder, 'client.ts')], { cwd: folder, env })
  expect(JSON.parse(stdout)).toEqual({
    repository: name,
    path: 'src/token.ts',
    code: 'forbidden',
    names: ['token', 'answer'],
    cited: expect.stringContaining('src/token.ts'),
    offered: false,
  })
}, 120_000)
