// `/v1/fs:batch-read-small`: many paths in one request, each with a status of its own.
import { json, type Reply } from '../../faulty-server.js'
import { unixTime } from './files.js'
import { type Caller, mayDo } from './keys.js'
import { canonicalPath } from './paths.js'
import { Refusal, refuse } from './refusal.js'
import { type Call, readJson } from './request-context.js'

const most = { paths: 128, bytes: 50_000 }

export function handleBatch(call: Call): Reply | undefined {
  if (call.request.method !== 'POST') return undefined
  return call.path === '/v1/fs:batch-read-small' ? batchRead(call) : undefined
}

function batchRead(call: Call): Reply {
  const asked = readJson(call.request)['max_bytes']
  const limit = Math.min(typeof asked === 'number' && asked > 0 ? asked : most.bytes, most.bytes)
  const paths = pathsOf(call)
  const results = paths.map((path) => each(call.caller, path, (clean) => readOne(call, clean, limit)))
  return json(200, { results })
}

function pathsOf({ request }: Call): string[] {
  const paths = readJson(request)['paths']
  if (!Array.isArray(paths)) refuse(400, 'invalid JSON')
  if (paths.length > most.paths) refuse(400, `too many paths: ${paths.length} exceeds limit ${most.paths}`)
  return paths.map(String)
}

/** A path that may not be read is an answer of its own, not the end of the batch. */
function each(caller: Caller, path: string, look: (clean: string) => object): object {
  try {
    const clean = canonicalPath(path)
    if (!mayDo(caller, 'read', clean)) return { path, status: 403, error: 'fs access denied' }
    return { path, ...look(clean) }
  } catch (error) {
    if (error instanceof Refusal) return { path, status: error.status, error: error.message }
    throw error
  }
}

function readOne({ drive }: Call, path: string, limit: number): object {
  const node = drive.tree.find(path)
  if (node?.kind !== 'file') refuse(404, 'not found')
  if (node.size >= drive.inlineThreshold) refuse(413, 'file is not available for inline read')
  if (node.size > limit) refuse(413, `file exceeds batch read-small limit ${limit} bytes`)
  const data = drive.objects.get(node.object).toString('base64')
  return { status: 200, data, size: node.size, revision: node.revision, mtime: unixTime(node) }
}
