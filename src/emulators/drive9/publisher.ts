// Where drive9 publishes its program: the program, checksums.txt and version beside each other. What is published is the local `drive9`.
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { json, type LocalServer, type Reply, startServer } from '../faulty-server.js'

export interface Publisher extends LocalServer {
  /** What a program needs in its environment to take the program from here. */
  settings: { DRIVE9_BINARY_URL: string }
  sha256: string
}

const localProgram = fileURLToPath(new URL('../bin/drive9', import.meta.url))
const name = 'drive9-linux-amd64'

export async function startPublisher({
  program = `#!/bin/sh\nexec '${localProgram}' "$@"\n`,
} = {}): Promise<Publisher> {
  const sha256 = createHash('sha256').update(program).digest('hex')
  const files: Record<string, string> = {
    [`/releases/${name}`]: program,
    '/releases/checksums.txt': `${'0'.repeat(64)}  drive9-darwin-arm64\n${sha256}  ${name}\n`,
    '/releases/version': 'local\n',
  }
  const serve = ({ path }: { path: string }): Reply => {
    const body = files[path]
    return body === undefined ? json(404, { error: 'not found' }) : { status: 200, body }
  }
  const server = await startServer('the publisher of drive9', async (request) => serve(request))
  return { ...server, settings: { DRIVE9_BINARY_URL: `${server.url}/releases/${name}` }, sha256 }
}
