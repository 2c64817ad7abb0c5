// A tiny program for inside a sandbox: what the real one stored and printed once is stored and printed again, over drive9's HTTP API with the
// token it is handed. It takes a fiftieth of a second where the real one takes half, so that hundreds of broken workflows fit into a suite. What
// it does not do (mount, clone, survey) has tests of its own with the real one.
//
// To start Node would be most of its time. So the `node` that comes first on the sandboxes' PATH is a script, which has the work of this program
// done in the test's own process, on a connection that ends with the sandbox's command; any other program is given to the real Node.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MountTask } from '../../src/handoff/domain/sandbox-protocol.js'
import type { ProgramRecord } from '../../src/handoff/domain/sandbox-protocol-decoder.js'

export interface RecordedRun {
  /** By path relative to the run directory; the clone under `project/`. */
  files: { path: string; bytes: Uint8Array }[]
  summarise: ProgramRecord[]
  find: ProgramRecord[]
}

export interface ScriptedProgram extends AsyncDisposable {
  /** What the program stores and prints from now on. Returns what it did until then. */
  can(canned: (before: RecordedRun) => RecordedRun): RecordedRun
  /** To come first on the PATH of the sandboxes. */
  folder: string
  /** The program, with the time that it waits for each reply. */
  program(waitMs: number): () => Promise<string>
}

export async function startScriptedProgram(): Promise<ScriptedProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'quick-'))
  chmodSync(folder, 0o755)
  let canned: RecordedRun = { files: [], summarise: [], find: [] }
  const server = createServer((socket) => void serve(socket, () => canned))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  writeFileSync(join(folder, 'node'), script, { mode: 0o755 })
  writeFileSync(join(folder, 'drive9'), mountScript, { mode: 0o755 })
  return {
    can(change) {
      const before = canned
      canned = change(before)
      return before
    },
    folder,
    program: (waitMs) => async () => `// quick ${port} ${waitMs}\n`,
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true })
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Enough on a busy machine. */
export const ampleWaitMs = 30_000

const script = `#!/bin/bash
read -r _ quick port wait < program.mjs
[ "$quick" = quick ] || exec ${process.execPath} "$@"
exec 3<> "/dev/tcp/127.0.0.1/$port" || exit 1
printf '%s\\0' "$wait" "$HANDOFF_TASK" "$DRIVE9_API_KEY" >&3
read -r code <&3
cat <&3
exit "\${code:-1}"
`

/** The mount that begins beside the program is left out. */
const mountScript = `#!/bin/bash
[ -f program.mjs ] && read -r _ quick _ < program.mjs && [ "$quick" = quick ] && exit 0
PATH=\${PATH#*:} exec drive9 "$@"
`

interface Task {
  task: 'summarise' | 'find'
  repositoryName: string
  mount: { server: string; remote: string }
}

/** The exit code, then what is printed. */
async function serve(socket: Socket, canned: () => RecordedRun): Promise<void> {
  const stop = new AbortController()
  socket.on('error', () => undefined)
  socket.once('close', () => stop.abort())
  const [wait = '', task = '', key = ''] = await wordsFrom(socket)
  if (key === '') return void socket.destroy()
  const doing = JSON.parse(task) as Task
  const { code, records } = await work(canned(), doing, makeCaller(doing.mount, key, Number(wait), stop.signal))
  const lines = records.map((record) => `${JSON.stringify({ ...record, v: 1 })}\n`)
  socket.end(`${code}\n${lines.join('')}`)
}

function wordsFrom(socket: Socket): Promise<string[]> {
  return new Promise((resolve) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      const words = text.split('\0')
      if (words.length > 3) resolve(words)
    })
    socket.once('close', () => resolve([]))
  })
}

async function work(
  canned: RecordedRun,
  { task, repositoryName }: Task,
  call: Caller,
): Promise<{ code: number; records: object[] }> {
  const named = (path: string) => (path.startsWith('project/') ? `project/${repositoryName}.git.tar` : path)
  try {
    if (task === 'summarise') for (const { path, bytes } of canned.files) await call.store(named(path), bytes)
    else await call.read('analysis/handoff.json')
    const said = (record: ProgramRecord) =>
      record.type === 'stored' ? { ...record, path: named(record.path) } : record
    return { code: 0, records: canned[task].map(said) }
  } catch (error) {
    const message = `the drive said ${error instanceof Error ? error.message : String(error)}`
    return { code: 1, records: [{ type: 'failed', code: 'store-failed', message }] }
  }
}

/** drive9's HTTP API as a program in a sandbox uses it, below its run directory. */
export interface Caller {
  store(path: string, bytes: Uint8Array): Promise<void>
  read(path: string): Promise<Buffer>
}

interface Heard {
  body: Buffer
  etag: string
}

/** Every refused or broken call is made once more, as the drive9 program does more patiently. */
export function makeCaller(
  { server, remote }: Pick<MountTask, 'server' | 'remote'>,
  key: string,
  waitMs: number,
  signal: AbortSignal,
): Caller {
  const authorization = `Bearer ${key}`
  const ask = (method: string, url: string, body?: Uint8Array | string, headers: object = { authorization }) => {
    const once = () => call({ method, url, body, headers: { ...headers }, waitMs, signal })
    return once().catch(once)
  }
  const post = async (path: string, value: object) =>
    JSON.parse((await ask('POST', `${server}${path}`, JSON.stringify(value))).body.toString()) as Record<
      string,
      unknown
    >
  const upload = async (path: string, bytes: Uint8Array) => {
    const plan = await post('/v2/uploads/initiate', { path: `${remote}/${path}`, total_size: bytes.length })
    const place = `/v2/uploads/${String(plan['upload_id'])}`
    const { parts } = await post(`${place}/presign-batch`, { parts: [{ part_number: 1 }] })
    const { etag } = await ask('PUT', (parts as { url: string }[])[0]!.url, bytes, {})
    await post(`${place}/complete`, { parts: [{ number: 1, etag }] })
  }
  return {
    async store(path, bytes) {
      if (bytes.length < 50_000) await ask('PUT', `${server}/v1/fs${remote}/${path}`, bytes)
      else await upload(path, bytes)
    },
    read: async (path) => (await ask('GET', `${server}/v1/fs${remote}/${path}`)).body,
  }
}

interface Asked {
  method: string
  url: string
  body: Uint8Array | string | undefined
  headers: Record<string, string>
  waitMs: number
  signal: AbortSignal
}

function call({ method, url, body, headers, waitMs, signal }: Asked): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method, headers, timeout: waitMs, signal, agent: false }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.once('error', reject)
      answer.once('close', () => {
        const { location } = answer.headers
        if (!answer.complete) reject(new Error('broken off'))
        // The address of a large file, which must not see the token.
        else if (answer.statusCode === 302 && location)
          resolve(call({ method, url: location, body, headers: {}, waitMs, signal }))
        else if ((answer.statusCode ?? 0) > 299) reject(new Error(String(answer.statusCode)))
        else resolve({ body: Buffer.concat(pieces), etag: answer.headers.etag ?? '' })
      })
    })
    asking.once('timeout', () => asking.destroy(new Error('silent')))
    asking.once('error', reject)
    asking.end(body)
  })
}
