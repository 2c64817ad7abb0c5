// drive9's rules for single files as pure functions: a request changes the files and gets a reply. Files, requests and replies are numbered, and what a
// request does to files is remembered, so that millions of steps take seconds.

export interface DriveRequest {
  method: string
  url: string
  /** The revision that a write expects. */
  expected: string | undefined
  body: string
}

export interface DriveReply {
  status: number
  headers: Record<string, string>
  body: string
}

/** By absolute path. */
export type DriveFiles = Readonly<Record<string, { text: string; revision: number }>>

interface KnownRequest extends DriveRequest {
  path: string
  changes: boolean
  /** For people. */
  text: string
}

export interface SmallDrive {
  intern(files: DriveFiles): number
  files(number: number): DriveFiles
  internRequest(request: DriveRequest): number
  request(number: number): KnownRequest
  reply(number: number): DriveReply
  apply(files: number, request: number): { files: number; reply: number }
}

export function makeSmallDrive(): SmallDrive {
  // Most files of two states are the same, so each file is written out once.
  const file = numbered((entry: [path: string, { text: string; revision: number }]) => JSON.stringify(entry))
  const files = numbered((value: DriveFiles) =>
    Object.entries(value)
      .map(file.number)
      .sort((a, b) => a - b)
      .join(),
  )
  const requests = numbered((request: KnownRequest) => JSON.stringify(request))
  const replies = numbered((reply: DriveReply) => JSON.stringify(reply))
  const steps: Map<number, { files: number; reply: number }>[] = []
  return {
    intern: files.number,
    files: files.value,
    internRequest: (request) => requests.number(understand(request)),
    request: requests.value,
    reply: replies.value,
    apply(before, request) {
      steps[before] ??= new Map()
      const known = steps[before].get(request)
      if (known) return known
      const after = answer(files.value(before), requests.value(request))
      const step = { files: files.number(after.files), reply: replies.number(after.reply) }
      steps[before].set(request, step)
      return step
    },
  }
}

function numbered<T>(keyOf: (value: T) => string): { number(value: T): number; value(number: number): T } {
  const numbers = new Map<string, number>()
  const values: T[] = []
  return {
    number(value) {
      const key = keyOf(value)
      const known = numbers.get(key)
      if (known !== undefined) return known
      numbers.set(key, values.length)
      values.push(value)
      return values.length - 1
    },
    value: (number) => values[number]!,
  }
}

function understand(request: DriveRequest): KnownRequest {
  const { method, url, expected } = request
  const path = decodeURIComponent(new URL(url).pathname.replace(/^\/v1\/fs/, ''))
  const short = path
    .replace(/[0-9a-f]{40}/g, '{sha}')
    .split('/')
    .slice(4)
    .join('/')
  const text = `${method} ${short}${new URL(url).search}${expected === undefined ? '' : ` at ${expected}`}`
  return { ...request, path, changes: method === 'PUT' || method === 'DELETE', text }
}

function answer(files: DriveFiles, request: KnownRequest): { files: DriveFiles; reply: DriveReply } {
  const { method, path, url } = request
  const { searchParams } = new URL(url)
  if (method === 'PUT') return write(files, request)
  if (method === 'DELETE') return remove(files, path, searchParams.has('recursive'))
  if (method === 'HEAD') return { files, reply: stat(files, path) }
  if (method !== 'GET') throw new Error(`the small drive does not know ${method} ${url}`)
  return { files, reply: searchParams.has('list') ? json(200, { entries: listOf(files, path) }) : read(files, path) }
}

function json(status: number, value: unknown): DriveReply {
  return { status, headers: {}, body: JSON.stringify(value) }
}

const absent = json(404, { error: 'not found' })

function read(files: DriveFiles, path: string): DriveReply {
  const file = files[path]
  return file ? { status: 200, headers: {}, body: file.text } : absent
}

function stat(files: DriveFiles, path: string): DriveReply {
  const file = files[path]
  const isDirectory = Object.keys(files).some((other) => other.startsWith(`${path}/`))
  if (!file && !isDirectory) return { ...absent, body: '' }
  const headers = {
    'x-dat9-isdir': String(!file),
    'x-dat9-revision': String(file?.revision ?? 1),
    'content-length': String(file ? Buffer.byteLength(file.text) : 0),
  }
  return { status: 200, headers, body: '' }
}

function write(files: DriveFiles, { path, expected, body }: KnownRequest) {
  const revision = files[path]?.revision ?? 0
  if (expected !== undefined && Number(expected) !== revision)
    return { files, reply: json(409, { error: 'revision conflict' }) }
  const written = { text: body, revision: revision + 1 }
  return { files: { ...files, [path]: written }, reply: json(200, { status: 'ok', revision: written.revision }) }
}

function remove(files: DriveFiles, path: string, recursive: boolean) {
  const isBelow = (other: string) => other === path || other.startsWith(`${path}/`)
  const gone = Object.keys(files).filter(isBelow)
  if (gone.length === 0) return { files, reply: absent }
  if (!files[path] && !recursive) return { files, reply: json(409, { error: 'directory not empty' }) }
  const left = Object.fromEntries(Object.entries(files).filter(([other]) => !isBelow(other)))
  return { files: left, reply: json(200, { status: 'ok' }) }
}

function listOf(files: DriveFiles, folder: string) {
  const names = new Map<string, { isDir: boolean; size: number; revision: number }>()
  for (const [path, { text, revision }] of Object.entries(files)) {
    if (!path.startsWith(`${folder}/`)) continue
    const [name = '', ...below] = path.slice(folder.length + 1).split('/')
    names.set(
      name,
      below.length > 0 ? { isDir: true, size: 0, revision: 1 } : { isDir: false, size: text.length, revision },
    )
  }
  return [...names].sort().map(([name, entry]) => ({ name, ...entry, mtime: 1_800_000_000 }))
}
