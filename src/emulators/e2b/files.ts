// envd's files: whole files over HTTP, and the file system service over Connect. Paths are the sandbox's; what one may touch is its directory.
import { lstat, mkdir, readdir, readFile, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { json, type RecordedRequest, type Reply } from '../faulty-server.js'
import { Refusal, readJson } from './connect-protocol.js'
import type { EnvdRequest, LocalSandbox } from './sandbox.js'
import type { UserName } from './sandbox-directory.js'

// ── whole files ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function readWholeFile({ sandbox, user }: EnvdRequest, path: string): Promise<Reply> {
  const located = locate(sandbox, path, user, 400)
  const found = await stat(located).catch(() => undefined)
  if (!found) throw new Refusal(404, `path '${sandbox.home.name(located)}' does not exist`)
  if (found.isDirectory()) throw new Refusal(400, `path '${sandbox.home.name(located)}' is a directory`)
  return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: await readFile(located) }
}

/** Without a path each file of the form has its own, as its name. */
export async function writeWholeFiles({ sandbox, user, request }: EnvdRequest, path: string | null): Promise<Reply> {
  if (Object.keys(request.headers).some((name) => name.startsWith('x-metadata-')))
    throw new Refusal(501, 'the local cloud keeps no metadata of files')
  const written: { path: string; name: string; type: 'file' }[] = []
  for (const { name, bytes } of await uploads(request, path)) {
    const located = locate(sandbox, name, user, 400)
    await store(located, bytes, sandbox)
    written.push({ path: sandbox.home.name(located), name: basename(located), type: 'file' })
  }
  return json(200, written)
}

async function uploads(request: RecordedRequest, path: string | null): Promise<{ name: string; bytes: Uint8Array }[]> {
  const type = request.headers['content-type'] ?? ''
  const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(request.body) : request.body
  if (type.startsWith('application/octet-stream')) {
    if (path === null) throw new Refusal(400, 'path query parameter is required for raw body upload')
    return [{ name: path, bytes: body }]
  }
  if (!type.startsWith('multipart/')) throw new Refusal(400, `unsupported content type: ${type}`)
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  const files = form.getAll('file').filter((part) => typeof part !== 'string')
  return Promise.all(files.map(async (file) => ({ name: path ?? file.name, bytes: await file.bytes() })))
}

async function store(located: string, bytes: Uint8Array, sandbox: LocalSandbox): Promise<void> {
  const found = await stat(located).catch(() => undefined)
  if (found?.isDirectory()) throw new Refusal(400, `path is a directory: ${sandbox.home.name(located)}`)
  try {
    await mkdir(dirname(located), { recursive: true, mode: 0o755 })
    await writeFile(located, bytes)
  } catch (error) {
    const full = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
    throw full
      ? new Refusal(507, 'not enough disk space available')
      : new Refusal(500, `error opening file: ${reason(error)}`)
  }
}

// ── the file system service ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Call = (sandbox: LocalSandbox, user: UserName, message: Record<string, unknown>) => Promise<unknown>

const calls: Record<string, Call> = {
  async Stat(sandbox, user, { path }) {
    return { entry: await describe(sandbox, locate(sandbox, path, user)) }
  },

  async MakeDir(sandbox, user, { path }) {
    const located = locate(sandbox, path, user)
    const found = await stat(located).catch(() => undefined)
    if (found?.isDirectory()) throw new Refusal('already_exists', `directory already exists: ${path}`)
    if (found) throw new Refusal('invalid_argument', `path already exists but it is not a directory: ${path}`)
    await mkdir(located, { recursive: true, mode: 0o755 }).catch(fail('internal', 'error creating the directory'))
    return { entry: await describe(sandbox, located) }
  },

  async Move(sandbox, user, { source, destination }) {
    const from = locate(sandbox, source, user)
    const to = locate(sandbox, destination, user)
    if (!(await lstat(from).catch(() => undefined))) throw new Refusal('not_found', `source file not found: ${source}`)
    await mkdir(dirname(to), { recursive: true, mode: 0o755 }).catch(fail('internal', 'error creating the directory'))
    await rename(from, to).catch(fail('internal', 'error renaming'))
    return { entry: await describe(sandbox, to) }
  },

  async Remove(sandbox, user, { path }) {
    const located = locate(sandbox, path, user)
    await rm(located, { recursive: true, force: true }).catch(fail('internal', 'error removing file or directory'))
    return {}
  },

  async ListDir(sandbox, user, { path, depth }) {
    const located = locate(sandbox, path, user)
    const found = await stat(located).catch(() => undefined)
    if (!found) throw new Refusal('not_found', `path not found: ${path}`)
    if (!found.isDirectory()) throw new Refusal('invalid_argument', `path is not a directory: ${path}`)
    return { entries: await listDirectory(sandbox, located, Number(depth ?? 1) || 1) }
  },
}

/** Nothing when the service has no such call. */
export async function callFileSystem(
  method: string,
  { sandbox, user, request }: EnvdRequest,
): Promise<Reply | undefined> {
  const call = calls[method]
  return call && json(200, await call(sandbox, user, readJson(request)))
}

async function listDirectory(sandbox: LocalSandbox, directory: string, depth: number): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const name of (await readdir(directory)).sort()) {
    const entry = await describe(sandbox, join(directory, name)).catch(() => undefined)
    // It was there a moment ago.
    if (!entry) continue
    entries.push(entry)
    const deeper = depth > 1 && entry.symlinkTarget === undefined && entry.type === 'FILE_TYPE_DIRECTORY'
    if (deeper) entries.push(...(await listDirectory(sandbox, join(directory, name), depth - 1)))
  }
  return entries
}

interface Entry {
  name: string
  type: 'FILE_TYPE_FILE' | 'FILE_TYPE_DIRECTORY' | 'FILE_TYPE_UNSPECIFIED'
  path: string
  /** Numbers of 64 bits are texts in Connect's JSON. */
  size: string
  mode: number
  permissions: string
  owner: string
  group: string
  modifiedTime: string
  symlinkTarget?: string
}

/** A link is described as itself but has the type of what it leads to. */
async function describe(sandbox: LocalSandbox, located: string): Promise<Entry> {
  const found = await lstat(located).catch(() => undefined)
  if (!found) throw new Refusal('not_found', `file not found: ${sandbox.home.name(located)}`)
  const target = found.isSymbolicLink() ? await stat(located).catch(() => undefined) : found
  return {
    name: basename(located),
    type: target?.isDirectory() ? 'FILE_TYPE_DIRECTORY' : target?.isFile() ? 'FILE_TYPE_FILE' : 'FILE_TYPE_UNSPECIFIED',
    path: sandbox.home.name(located),
    size: String(found.size),
    mode: (target?.mode ?? 0) & 0o777,
    permissions: permissions(found.mode, found.isDirectory() ? 'd' : found.isSymbolicLink() ? 'L' : '-'),
    owner: 'user',
    group: 'user',
    modifiedTime: found.mtime.toISOString(),
    ...(found.isSymbolicLink() ? { symlinkTarget: await leadsTo(sandbox, located) } : {}),
  }
}

async function leadsTo(sandbox: LocalSandbox, link: string): Promise<string> {
  const end = await realpath(link).catch(() => readlink(link))
  return end.startsWith(`${sandbox.directory}/`) ? sandbox.home.name(end) : end
}

function permissions(mode: number, kind: string): string {
  const letters = [...'rwxrwxrwx'].map((letter, index) => (mode & (0o400 >> index) ? letter : '-'))
  return kind + letters.join('')
}

function locate(sandbox: LocalSandbox, path: unknown, user: UserName, status?: number): string {
  const located = sandbox.home.locate(typeof path === 'string' ? path : '', user)
  if (located !== undefined) return located
  throw new Refusal(status ?? 'invalid_argument', `failed to expand path '${path}' for user '${user}'`)
}

function fail(code: 'internal', what: string) {
  return (error: unknown): never => {
    throw new Refusal(code, `${what}: ${reason(error)}`)
  }
}

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error))
