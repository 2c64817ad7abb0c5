// The untrusted half: child processes that read the repository. They get no secret, and the parent forwards only allowed record types.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { ProgramTask } from '../../domain/sandbox-protocol.js'
import { ProgramError, writeAll } from './emit-record.js'
import { lastLine, spawnError, spawnOptions, untrustedAccount } from './spawn.js'

export type ChildWork = 'survey' | 'words' | 'tree' | 'find' | 'more'

/** The records that a process with hostile input may send. It cannot claim that a file was stored or that the task succeeded. */
const allowedRecords = new Set([
  'survey',
  'text',
  'diagram',
  'change',
  'changed-lines',
  'relocated',
  'excerpt',
  'object',
  'listing',
  'notes',
  'card',
  'searched',
  'notice',
  'failed',
])

/**
 * The child's records are forwarded once `proven` is fulfilled, and never if it is rejected. A child that calls `untilReady` waits for `ready`, so that
 * it starts beside what it needs.
 */
export function runChild(
  work: ChildWork,
  task: ProgramTask,
  home: string,
  proven: Promise<unknown> = Promise.resolve(),
  ready: Promise<unknown> = Promise.resolve(),
): Promise<void> {
  const account = untrustedAccount(home)
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ['--max-old-space-size=1536', '--max-semi-space-size=4', fileURLToPath(import.meta.url), work],
      {
        ...spawnOptions(home, { environment: { HANDOFF_TASK: JSON.stringify(task) }, ...(account ? { account } : {}) }),
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    )
    // A child that has ended closes its input; its exit code is what counts.
    child.stdin?.on('error', () => {})
    ready.then(() => child.stdin?.end(), reject)
    let stderr = ''
    const lines = createLineReader((line) => forwardRecord(line, proven, reject))
    child.stdout?.on('data', lines)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4_000)
    })
    child.on('error', (error: NodeJS.ErrnoException) => reject(spawnError('node', error)))
    child.on('close', (code) => {
      if (code === 0) proven.then(() => resolve(), reject)
      else reject(new ProgramError('internal', `${work} ended with ${code ?? 'a signal'}: ${lastLine(stderr)}`))
    })
  })
}

/** In the child: resolves when its parent has what it needs. */
export async function untilReady(): Promise<void> {
  for await (const _ of process.stdin);
}

/** Splits bytes into lines without decoding them, because a pipe may cut a character in two. */
function createLineReader(take: (line: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = []
  return (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      take(Buffer.concat([...rest, chunk.subarray(start, end)]))
      rest = []
      start = end + 1
    }
    if (start < chunk.length) rest.push(chunk.subarray(start))
  }
}

function forwardRecord(line: Buffer, proven: Promise<unknown>, reject: (error: unknown) => void): void {
  const record = JSON.parse(line.toString('utf8')) as { type: string; code?: string; message?: string }
  if (!allowedRecords.has(record.type)) return
  const code = record.code === 'too-many-files' ? record.code : 'internal'
  if (record.type === 'failed') reject(new ProgramError(code, record.message ?? 'it did not say why'))
  else proven.then(() => writeAll(Buffer.concat([line, Buffer.from('\n')]))).catch(reject)
}
