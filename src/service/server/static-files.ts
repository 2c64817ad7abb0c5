// The page's files, and nothing beside or above their folder.
import { readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** False where there is no such file. */
export async function serveStatic(
  folder: string,
  path: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (incoming.method !== 'GET' && incoming.method !== 'HEAD') return false
  const file = fileAt(folder, path)
  const found = file === undefined ? undefined : await stat(file).catch(() => undefined)
  if (file === undefined || !found?.isFile()) return false
  response.writeHead(200, {
    'content-type': types[extname(file)] ?? 'application/octet-stream',
    'cache-control': 'public, max-age=0, must-revalidate',
  })
  response.end(incoming.method === 'HEAD' ? undefined : await readFile(file))
  return true
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
