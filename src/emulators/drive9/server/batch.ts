// `/v1/fs:batch-stat` and `/v1/fs:batch-read-small`: many paths in one request, each with a status of its own.
import { json, type Reply } from '../../faulty-server.js'
import { hasMode, unixTime } from './files.js'
import { type Caller, mayDo } from './keys.js'
import { canonicalPath } from './paths.js'
import { Refusal, refuse } from './refusal.js'
import { type Call, readJson } from './request-context.js'

const most = { stat: 256, read: 128, bytes: 50_000 }

export function handleBatch(call: Call): Reply | undefined {
  if (call.request.method !== 'POST') return undefined
  if (call.path === '/v1/fs:batch-stat') return batchStat(call)
  return call.path === '/v1/fs:batch-read-small' ? batchRead(call) : undefined
}

function batchStat(call: Call): Reply {
  const results = pathsOf(call, most.stat).map((path) => each(call.caller, path, (clean) => statOne(call, clean)))
  return json(200, { results })
}

function batchRead(call: Call): Reply {
  const asked = readJson(call.request)['max_bytes']
  const limit = Math.min(typeof asked === 'number' && asked > 0 ? asked : most.bytes, most.bytes)
  const paths = pathsOf(call, most.read)
  const results = paths.map((path) => each(call.caller, path, (clean) => readOne(call, clean, limit)))
  return json(200, { results })
}

function pathsOf({ request }: Call, limit: number): string[] {
  const paths = readJson(request)['paths']
  if (!Array.isArray(paths)) refuse(400, 'invalid JSON')
  if (paths.length > limit) refuse(400, `too many paths: ${paths.length} exceeds limit ${limit}`)
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

function statOne({ drive }: Call, path: string): object {
  const node = drive.tree.find(path) ?? refuse(404, 'not found')
  const mode = hasMode(node) ? { mode: node.mode } : {}
  const common = { status: 200, isDir: node.kind === 'directory', hasMode: hasMode(node), ...mode }
  if (node.kind === 'directory') return { ...common, size: 0, nlink: 2, mtime: unixTime(node) }
  const { size, revision, id } = node
  return { ...common, size, revision, resource_id: id, nlink: 1, mtime: unixTime(node) }
}

function readOne({ drive }: Call, path: string, limit: number): object {
  const node = drive.tree.find(path)
  if (node?.kind !== 'file') refuse(404, 'not found')
  if (node.size >= drive.inlineThreshold) refuse(413, 'file is not available for inline read')
  if (node.size > limit) refuse(413, `file exceeds batch read-small limit ${limit} bytes`)
  const data = drive.objects.get(node.object).toString('base64')
  return { status: 200, data, size: node.size, revision: node.revision, mtime: unixTime(node) }
}
