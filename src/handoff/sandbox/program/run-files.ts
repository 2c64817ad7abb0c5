// Reads files of the run directory over HTTP, whole or by ranges. drive9 gives a small file at once, whatever range is asked for; of a large one it gives a
// signed address in its object storage, which gives ranges and must not see the token.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Agent, IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { MountTask } from '../../domain/sandbox-protocol.js'
import { awaitedLater } from '../../util/abort.js'
import type { StoredFile } from './search/stored-file.js'

interface Artifact {
  path: string
  bytes: number
  sha256: string
}

interface RunFiles extends Disposable {
  /** The whole file; throws if its hash is not the sealed one. */
  read(artifact: Artifact): Promise<Buffer>
  /** For ranges of it, which the caller checks. */
  open(artifact: Artifact): StoredFile
}

const patienceMs = 10_000
const mostSockets = 96
/** A file of so many bytes is read whole, which spares round trips. */
const smallFile = 2_000_000

// An import of `node:http` would load `fetch` too, which takes longer than the rest of this program's start.
const load = createRequire(import.meta.url)
const protocolOf = (url: string): typeof import('node:http') =>
  load(url.startsWith('https:') ? 'node:https' : 'node:http')

/** `addresses`: those that are known, by path. */
export function openRunFiles(
  { server, remote }: MountTask,
  token: string,
  addresses: Readonly<Record<string, string>>,
): RunFiles {
  const agents = new Map<object, Agent>()

  const ask = (url: string, headers: Record<string, string>): Promise<IncomingMessage> => {
    const protocol = protocolOf(url)
    const agent = agents.get(protocol) ?? new protocol.Agent({ keepAlive: true, maxSockets: mostSockets })
    agents.set(protocol, agent)
    return new Promise((resolve, reject) => {
      const request = protocol.get(url, { agent, headers }, resolve)
      request.setTimeout(patienceMs, () => request.destroy(new Error('The drive did not answer in time.')))
      request.on('error', reject)
    })
  }

  /** What drive9 answers: the bytes, or where they are. */
  const locate = async ({ path, bytes }: Artifact): Promise<Buffer | string> => {
    const url = `${server}/v1/fs${`${remote}/${path}`.split('/').map(encodeURIComponent).join('/')}`
    const answer = await ask(url, { authorization: `Bearer ${token}` })
    if (answer.statusCode !== 302) return readBody(answer, 200, bytes)
    answer.resume()
    return new URL(answer.headers.location ?? '', server).href
  }

  /** What fails is done once more with a new address, because an address expires. */
  const placeOf = (artifact: Artifact) => {
    const address = addresses[artifact.path]
    // At once, so that the address is there when the first range is wanted.
    let located = awaitedLater(address === undefined ? locate(artifact) : Promise.resolve(address))
    return async (readFrom: (found: Buffer | string) => Promise<Buffer>): Promise<Buffer> => {
      const first = located
      try {
        return await readFrom(await first)
      } catch {
        if (located === first) located = awaitedLater(locate(artifact))
        return readFrom(await located)
      }
    }
  }

  const read = (artifact: Artifact): Promise<Buffer> =>
    placeOf(artifact)(async (found) => {
      const bytes = typeof found === 'string' ? await readBody(await ask(found, {}), 200, artifact.bytes) : found
      if (isSealed(bytes, artifact)) return bytes
      throw new RangeError(`${artifact.path} does not hash to what handoff.json records.`)
    })

  return {
    read,
    open(artifact) {
      if (artifact.bytes <= smallFile) return wholeFile(awaitedLater(read(artifact)))
      const place = placeOf(artifact)
      return {
        read: ({ offset, length }) =>
          place(async (found) => {
            if (typeof found !== 'string') return found.subarray(offset, offset + length)
            const answer = await ask(found, { range: `bytes=${offset}-${offset + length - 1}` })
            return readBody(answer, 206, length)
          }),
      }
    },
    [Symbol.dispose]() {
      for (const agent of agents.values()) agent.destroy()
    },
  }
}

const isSealed = (bytes: Uint8Array, { sha256 }: Artifact) =>
  createHash('sha256').update(bytes).digest('hex') === sha256

/** A copy on the local disk; undefined if it is not there or not the sealed file. */
export async function readSealed(local: string, artifact: Artifact): Promise<Buffer | undefined> {
  const bytes = await readFile(local).catch(() => undefined)
  return bytes && isSealed(bytes, artifact) ? bytes : undefined
}

const wholeFile = (bytes: Promise<Buffer>): StoredFile => ({
  read: async ({ offset, length }) => (await bytes).subarray(offset, offset + length),
})

async function readBody(answer: IncomingMessage, status: number, length: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let received = 0
  if (answer.statusCode !== status) answer.destroy()
  else
    for await (const chunk of answer) {
      chunks.push(chunk as Buffer)
      received += (chunk as Buffer).length
      if (received > length) break
    }
  if (answer.statusCode === status && received === length) return Buffer.concat(chunks)
  throw new RangeError(
    `The drive answered ${answer.statusCode ?? 'nothing'} with ${received} bytes; ${length} were expected.`,
  )
}
