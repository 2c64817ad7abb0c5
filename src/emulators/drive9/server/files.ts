// `/v1/fs/…`: read, stat, list, write, delete, rename, copy, mkdir and the rest of what one path can be asked.
import { json, type Reply } from '../../faulty-server.js'
import type { TreeNode } from './file-tree.js'
import { authorize } from './keys.js'
import { canonicalPath, decodePath } from './paths.js'
import { refuse } from './refusal.js'
import { type Call, readJson } from './request-context.js'
import { reservedBy } from './uploads.js'

const symlinkMode = 0o120777
const done = () => json(200, { status: 'ok' })

export function handleFile(call: Call): Reply | undefined {
  const path = decodePath(call.path.slice('/v1/fs'.length))
  const { method } = call.request
  if (method === 'GET') {
    if (call.query.has('list')) return list(call, path)
    return call.query.size === 0 ? read(call, path) : undefined
  }
  if (method === 'HEAD') return stat(call, path)
  if (method === 'PUT') return write(call, path)
  if (method === 'DELETE') return remove(call, path)
  return method === 'POST' ? act(call, path) : undefined
}

function act(call: Call, path: string): Reply | undefined {
  if (call.query.has('copy')) return copy(call, path)
  if (call.query.has('rename')) return rename(call, path)
  if (call.query.has('mkdir')) return makeDirectory(call, path)
  if (call.query.has('chmod')) return changeMode(call, path)
  if (call.query.has('create')) return create(call, path)
  if (call.query.has('symlink')) return symlink(call, path)
  return undefined
}

/** Small files come at once, whatever range was asked for; large ones are a redirect to an address that needs no key. */
function read({ drive, caller, origin }: Call, path: string): Reply {
  authorize(caller, 'read', path)
  const node = drive.tree.find(path)
  if (node?.kind !== 'file') refuse(404, 'not found')
  if (node.size < drive.inlineThreshold) {
    return {
      status: 200,
      headers: { 'content-type': 'application/octet-stream' },
      body: drive.objects.get(node.object),
    }
  }
  const location = `${origin}${drive.links.sign({ kind: 'get', object: node.object }).path}`
  const headers = { location, 'content-type': 'text/html; charset=utf-8' }
  return { status: 302, headers, body: `<a href="${location}">Found</a>.\n\n` }
}

function stat({ drive, caller }: Call, path: string): Reply {
  authorize(caller, 'read', path)
  const node = drive.tree.find(path)
  if (!node) refuse(404, 'not found')
  const size = node.kind === 'file' ? node.size : 0
  const headers: Record<string, string> = {
    'content-length': String(size),
    'x-dat9-isdir': String(node.kind === 'directory'),
    'x-dat9-mtime': path === '/' ? '0' : String(unixTime(node)),
    'x-dat9-nlink': node.kind === 'directory' ? '2' : '1',
    ...(path === '/' ? {} : { 'x-dat9-revision': String(revisionOf(node)) }),
  }
  if (node.kind === 'file') {
    headers['x-dat9-resource-id'] = node.id
    headers['x-dat9-storage-type'] = size < drive.inlineThreshold ? 'db9' : 's3'
  }
  if (path !== '/' && hasMode(node)) headers['x-dat9-mode'] = String(node.mode)
  return { status: 200, headers }
}

/** A directory that is not there lists as empty; so does a file. */
function list({ drive, caller }: Call, path: string): Reply {
  authorize(caller, 'list', path)
  const node = drive.tree.find(path)
  const children = node?.kind === 'directory' ? [...node.children] : []
  const entries = children.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, child]) => describe(name, child))
  return json(200, { entries })
}

function describe(name: string, node: TreeNode): Record<string, unknown> {
  const common = { name, isDir: node.kind === 'directory', mtime: unixTime(node), hasMode: hasMode(node) }
  const mode = hasMode(node) ? { mode: node.mode } : {}
  if (node.kind === 'directory') return { ...common, size: 0, revision: revisionOf(node), ...mode, nlink: 2 }
  return { ...common, size: node.size, revision: node.revision, ...mode, resource_id: node.id, nlink: 1 }
}

/** A directory never changes its revision. */
const revisionOf = (node: TreeNode) => (node.kind === 'file' ? node.revision : 1)
export const unixTime = (node: TreeNode) => Math.floor(node.modifiedAt / 1000)
const hasMode = (node: TreeNode) => node.kind === 'directory' || node.hasMode

function write({ drive, request, caller }: Call, path: string): Reply {
  authorize(caller, 'write', path)
  const expected = expectedRevision(request.headers['x-dat9-expected-revision'])
  const size = request.body.length
  if (size > drive.maxUploadBytes) refuse(413, `upload too large: max ${drive.maxUploadBytes} bytes`)
  if (size >= drive.inlineThreshold) refuse(400, 'missing X-Dat9-Part-Checksums header')
  drive.tree.expect(path, expected)
  drive.tree.admit(path, size, reservedBy(drive, path))
  return json(200, { status: 'ok', revision: drive.tree.write(path, request.body).revision })
}

function expectedRevision(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (!/^\d{1,15}$/.test(header.trim())) refuse(400, 'invalid X-Dat9-Expected-Revision header')
  return Number(header)
}

function remove({ drive, caller, query }: Call, path: string): Reply {
  authorize(caller, 'delete', path)
  const kind = query.get('kind') ?? ''
  if (kind !== '' && kind !== 'file' && kind !== 'dir') refuse(400, 'invalid delete kind')
  drive.tree.remove(path, { recursive: query.has('recursive'), kind })
  return done()
}

function rename(call: Call, path: string): Reply {
  const from = sourceOf(call, 'X-Dat9-Rename-Source')
  authorize(call.caller, 'delete', from)
  authorize(call.caller, 'write', path)
  call.drive.tree.rename(from, path)
  return done()
}

function copy(call: Call, path: string): Reply {
  const from = sourceOf(call, 'X-Dat9-Copy-Source')
  authorize(call.caller, 'read', from)
  authorize(call.caller, 'write', path)
  const node = call.drive.tree.find(from)
  if (node?.kind !== 'file') refuse(404, 'not found')
  call.drive.tree.admit(path, node.size, reservedBy(call.drive, path))
  call.drive.tree.write(path, call.drive.objects.get(node.object), node.hasMode ? { mode: node.mode } : {})
  return done()
}

function sourceOf({ request }: Call, header: string): string {
  const raw = request.headers[header.toLowerCase()] ?? ''
  if (raw === '') refuse(400, `missing ${header} header`)
  const encoding = request.headers['x-dat9-path-encoding'] ?? ''
  if (encoding !== '' && encoding !== 'base64url') refuse(400, 'unsupported X-Dat9-Path-Encoding')
  // Node gives header bytes as Latin-1; a path in a header is UTF-8.
  return canonicalPath(Buffer.from(raw, encoding === 'base64url' ? 'base64url' : 'latin1').toString('utf8'))
}

function makeDirectory({ drive, caller, query }: Call, path: string): Reply {
  authorize(caller, 'write', path)
  drive.tree.makeDirectory(path, Number(query.get('mode') || 0o755))
  return done()
}

function changeMode({ drive, request, caller }: Call, path: string): Reply {
  if (!caller.owner) refuse(403, 'chmod is owner-only')
  const mode = readJson(request)['mode']
  if (typeof mode !== 'number') refuse(400, 'invalid request body: mode')
  drive.tree.changeMode(path, mode & 0o777)
  return done()
}

function create({ drive, caller }: Call, path: string): Reply {
  authorize(caller, 'write', path)
  if (drive.tree.find(path)) refuse(409, 'path already exists')
  drive.tree.admit(path, 0, reservedBy(drive, path))
  return json(200, { status: 'ok', revision: drive.tree.write(path, new Uint8Array()).revision })
}

/** A link is a small file whose mode says what it is and whose bytes say where it points. */
function symlink({ drive, request, caller }: Call, path: string): Reply {
  authorize(caller, 'write', path)
  const target = readJson(request)['target']
  if (typeof target !== 'string' || target === '' || Buffer.byteLength(target) > 4096) {
    refuse(400, 'invalid symlink target')
  }
  if (drive.tree.find(path)) refuse(409, 'path already exists')
  drive.tree.admit(path, Buffer.byteLength(target), reservedBy(drive, path))
  drive.tree.write(path, Buffer.from(target), { mode: symlinkMode })
  return json(200, { status: 'ok', revision: 1 })
}
