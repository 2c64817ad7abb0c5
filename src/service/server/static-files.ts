// The page's files, and nothing beside or above their folder. A browser that has a file asks only whether it changed.
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

interface StaticFile {
  /** When the file was written: a file that is built again is read again. */
  changed: number
  etag: string
  plain: Buffer
  /** Absent for a type that is compressed by itself. */
  compressed?: Buffer
}

const compress = promisify(gzip)
const cache = new Map<string, StaticFile>()

/** False where there is no such file. */
export async function serveStatic(
  folder: string,
  path: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (incoming.method !== 'GET' && incoming.method !== 'HEAD') return false
  const place = fileAt(folder, path)
  const file = place === undefined ? undefined : await readStatic(place)
  if (place === undefined || file === undefined) return false
  const packed = /\bgzip\b/.test(String(incoming.headers['accept-encoding'])) ? file.compressed : undefined
  response.setHeader('etag', file.etag)
  response.setHeader('cache-control', 'public, max-age=0, must-revalidate')
  if (file.compressed) response.setHeader('vary', 'accept-encoding')
  if (incoming.headers['if-none-match']?.includes(file.etag)) {
    response.writeHead(304).end()
    return true
  }
  const body = packed ?? file.plain
  response.writeHead(200, {
    'content-type': types[extname(place)] ?? 'application/octet-stream',
    'content-length': body.length,
    ...(packed && { 'content-encoding': 'gzip' }),
  })
  response.end(incoming.method === 'HEAD' ? undefined : body)
  return true
}

async function readStatic(place: string): Promise<StaticFile | undefined> {
  const found = await stat(place).catch(() => undefined)
  if (!found?.isFile()) return undefined
  const known = cache.get(place)
  if (known?.changed === found.mtimeMs) return known
  const plain = await readFile(place)
  // Weak: the same name for the file as it is and compressed.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  const file: StaticFile = { changed: found.mtimeMs, etag, plain }
  if (extname(place) !== '.woff2') file.compressed = await compress(plain, { level: 9 })
  cache.set(place, file)
  return file
}

function fileAt(folder: string, path: string): string | undefined {
  try {
    const plain = normalize(decodeURIComponent(path))
    // Neither a step upwards, nor a hidden file, nor another separator.
    if (/(?:^|\/)\.|[\0\\]/.test(plain)) return undefined
    return join(folder, plain.endsWith('/') ? `${plain}index.html` : plain)
  } catch {
    return undefined
  }
}
