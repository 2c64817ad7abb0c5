// Reads the reply to `ls-refs`, a command of git's protocol version 2. An annotated tag counts as the commit it points to.
import { HandoffError } from '../../domain/errors.js'
import { quote } from '../../domain/run.js'
import { NotPackets, readPackets } from './pkt-line.js'

/**
 * The wanted refs and their commits. HEAD brings the branch that it points to. Undefined when the reply is not a complete listing: then the server
 * does not speak version 2.
 */
export async function readListing(
  response: Response,
  wanted: readonly string[],
): Promise<Map<string, string> | undefined> {
  const found = new Map<string, string>()
  let complete = false
  try {
    for await (const packet of readPackets(bodyOf(response))) {
      if ('mark' in packet) {
        complete ||= packet.mark === 'flush'
        continue
      }
      if (packet.line.startsWith('ERR ')) throw serverError(packet.line.slice(4))
      const [object = '', name = '', ...attributes] = packet.line.split(' ')
      if (/^[0-9a-f]{40}$/.test(object)) addRef(found, wanted, object, name, attributes)
      else if (object !== 'unborn') return undefined
    }
  } catch (error) {
    if (error instanceof NotPackets) return undefined
    throw error
  }
  return complete ? found : undefined
}

function addRef(
  found: Map<string, string>,
  wanted: readonly string[],
  object: string,
  name: string,
  attributes: readonly string[],
): void {
  if (!wanted.includes(name)) return
  const attribute = (key: string) => attributes.find((one) => one.startsWith(key))?.slice(key.length)
  found.set(name, attribute('peeled:') ?? object)
  const branch = attribute('symref-target:')
  if (name === 'HEAD' && branch !== undefined) found.set(branch, object)
}

function serverError(message: string): HandoffError {
  return new HandoffError('git', `The git host says: ${quote(message)}.`, { next: 'Check the clone address.' })
}

async function* bodyOf(response: Response): AsyncIterable<Uint8Array> {
  if (response.body) yield* response.body
}
