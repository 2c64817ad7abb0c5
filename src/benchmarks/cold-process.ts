// Processes that answer a request over HTTP and exit, as the platform's instances do. Each loads the function, starts a server and converts
// HTTP requests to `Request` objects. The measured time runs from process start to the reply. It excludes process exit, which no client
// waits for.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { repositoryRoot } from '../cli/sandbox-program.js'

export interface Cold {
  file: string
  path: string
  body?: unknown
  /** Asked after the first, in the same process. */
  again?: unknown
  token?: string
  environment: Record<string, string>
  /** Tells which files were loaded, which takes time itself. */
  listing?: boolean
}

interface ColdRun {
  wall: number
  load: number
  first: number
  second: number
  status: number
  loaded: string[]
}

/** Where the process itself says what it has loaded. */
const listPath = '/--loaded'

const program = `
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
const given = JSON.parse(process.argv[1])
const loaded = []
if (given.listing) registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
const began = performance.now()
const made = await import(pathToFileURL(given.file))
const load = performance.now() - began
const answer = async ({ method, url, headers }, pieces) => {
  const body = pieces.length > 0 ? { body: Buffer.concat(pieces) } : {}
  if (url === '${listPath}') return Response.json(loaded)
  return made.default.fetch(new Request('http://' + headers.host + url, { method, headers, ...body }))
}
const server = createServer(async (incoming, outgoing) => {
  const pieces = []
  for await (const piece of incoming) pieces.push(piece)
  const response = await answer(incoming, pieces)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(await response.text())
})
server.listen(0, '127.0.0.1', () => process.stdout.write(JSON.stringify({ port: server.address().port, load }) + '\\n'))
`

export async function coldRun(subject: Cold): Promise<ColdRun> {
  const { environment, file, listing } = subject
  const began = performance.now()
  const child = start(program, { file, listing }, environment)
  const agent = new Agent({ keepAlive: true })
  try {
    const { port, load } = await firstLine<{ port: number; load: number }>(child)
    const asked = performance.now()
    const { status } = await ask(agent, port, subject, subject.body)
    const answered = performance.now()
    if (subject.again !== undefined) await ask(agent, port, subject, subject.again)
    const second = subject.again === undefined ? 0 : performance.now() - answered
    const loaded = listing ? (JSON.parse((await ask(agent, port, { path: listPath })).said) as string[]) : []
    return { wall: answered - began, load, first: answered - asked, second, status, loaded }
  } finally {
    agent.destroy()
    child.kill('SIGKILL')
    await once(child, 'close')
  }
}

/** How long the import of packages takes in a process of its own, in milliseconds. */
export async function coldImport(packages: string[]): Promise<number> {
  const imports = `const began = performance.now()
for (const name of JSON.parse(process.argv[1])) await import(name)
process.stdout.write(JSON.stringify(performance.now() - began) + '\\n')`
  const child = start(imports, packages, {})
  const ended = once(child, 'close')
  const taken = await firstLine<number>(child)
  await ended
  return taken
}

function start(text: string, given: unknown, environment: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', text, JSON.stringify(given)], {
    cwd: repositoryRoot,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** What follows is the function's log. */
async function firstLine<T>(child: ChildProcess): Promise<T> {
  const lines = createInterface({ input: child.stdout! })
  const line = await Promise.race([once(lines, 'line'), once(lines, 'close')])
  return JSON.parse(String(line[0])) as T
}

async function ask(agent: Agent, port: number, { path, token }: Pick<Cold, 'path' | 'token'>, body?: unknown) {
  const content = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(content === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const method = content === undefined ? 'GET' : 'POST'
  const call = request({ agent, host: '127.0.0.1', port, path, method, headers })
  call.end(content)
  const [response] = await once(call, 'response')
  return { status: response.statusCode as number, said: await text(response) }
}
