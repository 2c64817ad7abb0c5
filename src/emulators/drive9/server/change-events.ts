// `/v1/events`: what changes, as server-sent events. The stream begins with the state (a reset for a reader that knows nothing) and a heartbeat.
import type { ServerResponse } from 'node:http'
import type { TableLine } from './object-storage.js'
import { refuse } from './refusal.js'

export interface Changes {
  note(line: TableLine): void
  stream(query: URLSearchParams, response: ServerResponse): void
}

const operations: Partial<Record<string, string>> = { file: 'write', remove: 'delete', mode: 'chmod' }

export function makeChanges(now: () => number): Changes {
  const past: { seq: number; text: string }[] = []
  const readers = new Set<ServerResponse>()
  let seq = 0

  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

  /** A change to the structure of the tree is sent as a `reset` event. */
  function wordsFor(line: TableLine): string {
    const path = String(line['to'] ?? line['path'] ?? '')
    const op = operations[line.op]
    if (op === undefined) return event('reset', { seq, reason: 'structural_change', path, op: line.op })
    return event('file_changed', { seq, path, op, actor: '', ts: now() })
  }

  return {
    note(line) {
      if (!('path' in line || 'to' in line)) return
      seq += 1
      const text = wordsFor(line)
      past.push({ seq, text })
      for (const reader of readers) reader.write(text)
    },
    stream(query, response) {
      const asked = query.get('since') ?? ''
      if (!/^\d*$/.test(asked)) refuse(400, 'invalid since parameter')
      const since = Number(asked)
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
      if (since === 0) response.write(event('reset', { seq, reason: 'initial_sync' }))
      else if (since > seq) response.write(event('reset', { seq, reason: 'server_restart' }))
      else for (const { text } of past.slice(since)) response.write(text)
      response.write(event('heartbeat', { seq }))
      readers.add(response)
      response.on('close', () => readers.delete(response))
    },
  }
}
