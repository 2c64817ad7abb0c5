// Which records of a process with hostile input go on to the host.
import { parseJson } from '../../util/decode.js'
import { ProgramError } from './emit-record.js'

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

interface Forwarding {
  /** Records are written once it is fulfilled, and never if it is rejected. */
  proven: Promise<unknown>
  write: (line: Uint8Array) => void
  reject: (error: unknown) => void
}

/** Takes the process's output as it comes. Lines are split without decoding them, because a pipe may cut a character in two. */
export function forwardRecords(forwarding: Forwarding): (chunk: Buffer) => void {
  let rest: Buffer[] = []
  return (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      forward(Buffer.concat([...rest, chunk.subarray(start, end)]), forwarding)
      rest = []
      start = end + 1
    }
    rest.push(chunk.subarray(start))
  }
}

function forward(line: Buffer, { proven, write, reject }: Forwarding): void {
  const record = parseJson(line.toString('utf8')) as
    | { type?: string; code?: string; message?: string }
    | null
    | undefined
  if (record?.type === undefined || !allowedRecords.has(record.type)) return
  const code = record.code === 'too-many-files' ? record.code : 'internal'
  if (record.type === 'failed') reject(new ProgramError(code, String(record.message ?? 'it did not say why')))
  else proven.then(() => write(Buffer.concat([line, Buffer.from('\n')]))).catch(reject)
}
