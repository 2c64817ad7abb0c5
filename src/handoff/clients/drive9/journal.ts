// drive9's journal: entries that are appended, chained by hashes, and never changed. Only the owner's key opens it.
import type { Journal, JournalEntry } from '../../domain/ports.js'
import { notDrive9 } from './errors.js'
import { type Call, connectionOf, type DriveSettings, readJson, request } from './request.js'

/** The most entries that the service gives at once. */
const pageSize = 1_000

export function makeJournal(settings: Omit<DriveSettings, 'hosts'>): Journal {
  const connection = connectionOf(settings)

  /** Each call may be repeated: an append has a key, and a journal is created once. */
  const ask = (call: Call, signal: AbortSignal) => request(connection, { ...call, expected: [404] }, signal)
  const path = (journal: string, part: string) => `/v1/journals/${encodeURIComponent(journal)}/${part}`

  return {
    async append({ id, title }, key, entries, signal) {
      const headers = { 'idempotency-key': key }
      const append: Call = { method: 'POST', path: path(id, 'entries'), json: entries, headers }
      if ((await ask(append, signal)).status !== 404) return true
      const create: Call = { method: 'POST', path: '/v1/journals', json: { journal_id: id, kind: 'handoff', title } }
      if ((await ask(create, signal)).status === 404) return false
      return (await ask(append, signal)).status !== 404
    },
    async *entries(id, signal) {
      for (let after = 0; ; ) {
        const asked: Call = { method: 'GET', path: `${path(id, 'entries')}?after_seq=${after}&limit=${pageSize}` }
        const { status, body } = await ask(asked, signal)
        const lines = status === 404 ? [] : new TextDecoder().decode(body).split('\n').filter(Boolean)
        const page = lines.map((line) => readEntry(asked, line))
        yield* page
        const last = page.at(-1)
        if (last === undefined || page.length < pageSize) return
        if (last.seq <= after) throw notDrive9(asked, 'entries that do not follow')
        after = last.seq
      }
    },
    async verify(id, signal) {
      const asked: Call = { method: 'GET', path: path(id, 'verify') }
      const { status, body } = await ask(asked, signal)
      if (status === 404) return undefined
      const { ok, entries, head_hash: headHash } = readJson(asked, body)
      if (typeof ok !== 'boolean' || typeof entries !== 'number' || typeof headHash !== 'string')
        throw notDrive9(asked, 'a report without a verdict')
      return { ok, entries, headHash }
    },
  }
}

function readEntry(call: Call, line: string): JournalEntry {
  const value = readJson(call, new TextEncoder().encode(line))
  const { seq, type, occurred_at: at, actor, summary, prev_hash: previousHash, entry_hash: hash } = value
  const isWhole =
    typeof seq === 'number' && [type, at, previousHash, hash].every((text) => typeof text === 'string' && text !== '')
  if (!isWhole) throw notDrive9(call, 'an entry that is not whole')
  return {
    seq: seq as number,
    type: type as string,
    at: at as string,
    actor: typeof (actor as { id?: unknown } | undefined)?.id === 'string' ? (actor as { id: string }).id : '',
    summary: typeof summary === 'object' && summary !== null ? (summary as Record<string, unknown>) : {},
    previousHash: previousHash as string,
    hash: hash as string,
  }
}
