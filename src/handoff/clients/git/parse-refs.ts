// Reads which refs there are from a git host's answer: the listing of protocol version 2, or the advertisement of versions 0 and 1.
//
// An annotated tag counts as the commit it stands for. Where HEAD is asked for and stands for a branch, the branch is told too.
import { HandoffError } from '../../domain/errors.js'
import { quote } from '../../domain/run.js'
import { NotPackets, readPackets } from './pkt-line.js'

const id = /^[0-9a-f]{40}$/

/** Undefined when the answer is not a listing: the server speaks an older protocol. */
export async function readListing(response: Response, wanted: string[]): Promise<Map<string, string> | undefined> {
  const found = new Map<string, string>()
  let complete = false
  try {
    for await (const packet of readPackets(bodyOf(response))) {
      if ('mark' in packet) {
        complete ||= packet.mark === 'flush'
        continue
      }
      const [object = '', name = '', ...attributes] = packet.line.split(' ')
      if (id.test(object)) take(found, wanted, object, name, attributes)
      else if (object !== 'unborn') return undefined
    }
  } catch (error) {
    if (error instanceof NotPackets) return undefined
    throw error
  }
  return complete ? found : undefined
}

function take(found: Map<string, string>, wanted: string[], object: string, name: string, attributes: string[]): void {
  if (!wanted.includes(name)) return
  const attribute = (key: string) => attributes.find((one) => one.startsWith(key))?.slice(key.length)
  found.set(name, attribute('peeled:') ?? object)
  const target = attribute('symref-target:')
  if (name === 'HEAD' && target !== undefined) found.set(target, object)
}

/** Undefined when the answer is not an advertisement. */
export async function readAdvertisement(
  response: Response,
  wanted: string[],
): Promise<Map<string, string> | undefined> {
  const found = new Map<string, string>()
  let started = false
  let branch: string | undefined
  try {
    for await (const packet of readPackets(bodyOf(response))) {
      if ('mark' in packet || packet.line.startsWith('# service=') || packet.line === 'version 1') {
        started = true
        continue
      }
      if (packet.line.startsWith('ERR ')) throw said(packet.line.slice(4))
      const [line = '', capabilities = ''] = packet.line.split('\0')
      const [object = '', name = ''] = line.split(' ')
      if (!started || !id.test(object)) return undefined
      branch ??= /(?:^| )symref=HEAD:(\S+)/.exec(capabilities)?.[1]
      const plain = name.replace(/\^\{\}$/, '')
      if (wanted.includes(plain)) found.set(plain, object)
    }
  } catch (error) {
    if (error instanceof NotPackets) return undefined
    throw error
  }
  const head = found.get('HEAD')
  if (head !== undefined && branch !== undefined) found.set(branch, head)
  return started ? found : undefined
}

function said(words: string): HandoffError {
  return new HandoffError('git', `The git host says: ${quote(words)}.`, { next: 'Look at the clone address.' })
}

async function* bodyOf(response: Response): AsyncIterable<Uint8Array> {
  if (response.body) yield* response.body
}
