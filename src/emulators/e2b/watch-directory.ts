// envd's WatchDir: says what happens in a directory of the sandbox, as it happens.
//
// This machine only says «something about this name». What it was follows from how the thing looked before and looks now.
import { type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from 'node:fs'
import { join } from 'node:path'
import type { RecordedRequest } from '../faulty-server.js'
import { keepAliveOf, type MessageStream, openStream, Refusal, readEnvelope } from './connect-protocol.js'
import { describe, locate } from './files.js'
import type { EnvdRequest, LocalSandbox } from './sandbox.js'

type EventType = 'CREATE' | 'WRITE' | 'REMOVE' | 'RENAME' | 'CHMOD'
type Looks = Map<string, Stats>

export async function watchDirectory({ sandbox, user, request, response }: EnvdRequest): Promise<undefined> {
  const message = readEnvelope(request)
  const directory = locate(sandbox, message['path'], user)
  const found = statSync(directory, { throwIfNoEntry: false })
  if (!found) throw new Refusal('not_found', `path ${message['path']} not found`)
  if (!found.isDirectory()) throw new Refusal('invalid_argument', `path ${message['path']} not a directory`)
  const stream = openStream(response, keepAliveOf(request), { keepalive: {} })
  sandbox.streams.add(stream)
  const watcher = follow(sandbox, directory, message, stream)
  stream.send({ start: {} })
  endAtDeadline(stream, request)
  await stream.closed
  watcher.close()
  sandbox.streams.delete(stream)
}

function follow(
  sandbox: LocalSandbox,
  directory: string,
  message: Record<string, unknown>,
  stream: MessageStream,
): FSWatcher {
  const recursive = message['recursive'] === true
  const looks: Looks = new Map()
  for (const name of readdirSync(directory, { recursive }) as string[]) look(directory, name, looks)
  let last = Promise.resolve()
  const watcher = watch(directory, { recursive })
  watcher.on('error', () => stream.end(new Refusal('internal', 'watcher error')))
  watcher.on('change', (kind, changed) => {
    const name = String(changed)
    const type = whatHappened(kind, directory, name, looks)
    if (!type) return
    // One after the other, although describing an entry takes its time.
    last = last.then(async () => {
      const present = message['includeEntry'] === true && type !== 'REMOVE' && type !== 'RENAME'
      const entry = present ? await describe(sandbox, join(directory, name)).catch(() => undefined) : undefined
      stream.send({ filesystem: { name, type: `EVENT_TYPE_${type}`, ...(entry ? { entry } : {}) } })
    })
  })
  return watcher
}

/** `rename` is said of names that come and go, `change` of things that stay. */
function whatHappened(kind: string, directory: string, name: string, looks: Looks): EventType | undefined {
  const before = looks.get(name)
  const now = look(directory, name, looks)
  if (!now) return before && (isElsewhere(directory, before) ? 'RENAME' : 'REMOVE')
  if (!before || !isSame(before, now)) return 'CREATE'
  if (kind === 'rename') return undefined
  return before.mode !== now.mode && before.mtimeMs === now.mtimeMs ? 'CHMOD' : 'WRITE'
}

function look(directory: string, name: string, looks: Looks): Stats | undefined {
  const now = lstatSync(join(directory, name), { throwIfNoEntry: false })
  if (now) looks.set(name, now)
  else looks.delete(name)
  return now
}

function isElsewhere(directory: string, before: Stats): boolean {
  const looksNow = readdirSync(directory).map((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }))
  return looksNow.some((now) => now && isSame(before, now))
}

/** The number alone is given to the next file when a file is gone. */
const isSame = (one: Stats, other: Stats) => one.ino === other.ino && one.birthtimeMs === other.birthtimeMs

function endAtDeadline(stream: MessageStream, request: RecordedRequest): void {
  const milliseconds = Number(request.headers['connect-timeout-ms'] ?? 0)
  if (!(milliseconds > 0)) return
  const end = () => stream.end(new Refusal('deadline_exceeded', 'context deadline exceeded'))
  const clock = setTimeout(end, milliseconds)
  clock.unref()
  void stream.closed.then(() => clearTimeout(clock))
}
