// /v1/journals: entries that are chained by hashes and never changed. Its errors have a code and a sentence, unlike those of files.
import { createHash } from 'node:crypto'
import { freshId, json, type Reply } from '../../faulty-server.js'
import type { Call, StoredEntry, StoredJournal } from './request-context.js'

class Refused extends Error {
  readonly reply: Reply
  constructor(status: number, code: string, message: string) {
    super(message)
    this.reply = json(status, { error: { code, message, retryable: false, request_id: '' } })
  }
}

const idForm = /^[A-Za-z0-9_.-]{1,128}$/
const keyForm = /^[A-Za-z0-9_.:-]{1,128}$/
const typeForm = /^[a-z][a-z0-9_.-]{0,127}$/
const subjectForm = /^[a-z][a-z0-9_.-]{0,63}:./
const hashOf = (value: unknown) => `sha256:${createHash('sha256').update(JSON.stringify(value)).digest('hex')}`
const headOf = ({ entries, genesis }: StoredJournal) => entries.at(-1)?.entry_hash ?? genesis

export function handleJournals(call: Call): Reply | undefined {
  const { path, request, drive } = call
  try {
    if (path === '/v1/journals' && request.method === 'POST') return create(call)
    const [, id = '', part] = /^\/v1\/journals\/([^/]+)\/(entries|verify)$/.exec(path) ?? []
    const journal = drive.journals.get(decodeURIComponent(id))
    if (part === undefined) return undefined
    if (!journal) throw new Refused(404, 'not_found', 'not found')
    if (part === 'verify' && request.method === 'GET') return json(200, { journal_id: id, ...verdict(journal) })
    if (part !== 'entries') return undefined
    if (request.method === 'GET') return list(journal, call)
    return request.method === 'POST' ? append(journal, id, call) : undefined
  } catch (error) {
    if (error instanceof Refused) return error.reply
    throw error
  }
}

function bodyOf({ request }: Call): unknown {
  try {
    return JSON.parse(request.body.toString('utf8'))
  } catch {
    throw new Refused(400, 'bad_request', 'malformed JSON')
  }
}

function create(call: Call): Reply {
  const { journal_id: id, kind = 'agent', title = '' } = bodyOf(call) as Record<string, unknown>
  if (typeof id !== 'string' || !idForm.test(id))
    throw new Refused(422, 'validation_failed', `invalid journal id "${id}"`)
  const known = call.drive.journals.get(id)
  if (known && known.title !== title) throw new Refused(409, 'conflict', 'journal conflict')
  const genesis = known?.genesis ?? hashOf([id, kind, title, call.drive.now()])
  if (!known) call.drive.journals.set(id, { title: String(title), genesis, entries: [], appends: new Map() })
  return json(200, { journal_id: id, kind, title, genesis_hash: genesis })
}

function append(journal: StoredJournal, id: string, call: Call): Reply {
  const key = call.request.headers['idempotency-key'] ?? ''
  if (key === '') throw new Refused(400, 'bad_request', 'missing Idempotency-Key')
  if (!keyForm.test(key)) throw new Refused(422, 'validation_failed', `invalid idempotency key "${key}"`)
  const body = call.request.body.toString('utf8')
  const earlier = journal.appends.get(key)
  if (earlier && earlier.body !== body) throw new Refused(409, 'conflict', 'idempotency conflict')
  if (earlier) return json(200, { ...earlier.reply, idempotent: true })
  const given = bodyOf(call)
  const entries = Array.isArray(given) ? given : [given]
  if (entries.length > 500) throw new Refused(413, 'payload_too_large', 'too many entries')
  const firstSeq = journal.entries.length + 1
  for (const entry of entries as Record<string, unknown>[]) journal.entries.push(chained(journal, id, entry, call))
  const last = journal.entries.length
  const counts = { first_seq: firstSeq, last_seq: last, count: entries.length, head_hash: headOf(journal) }
  const reply = { journal_id: id, append_id: key, ...counts, idempotent: false }
  journal.appends.set(key, { body, reply })
  return json(200, reply)
}

function chained(journal: StoredJournal, id: string, given: Record<string, unknown>, { drive }: Call): StoredEntry {
  const { type, subjects = [], summary = {}, actor = { type: 'api_key', id: 'local' }, occurred_at: at } = given
  const odd = Object.keys(given).find((name) => !['type', 'subjects', 'summary', 'actor', 'occurred_at'].includes(name))
  if (odd !== undefined) throw new Refused(422, 'validation_failed', `this drive9 does not know ${odd}`)
  if (typeof type !== 'string' || !typeForm.test(type))
    throw new Refused(422, 'validation_failed', `invalid entry type "${type}"`)
  if (!Array.isArray(subjects) || subjects.some((one) => !subjectForm.test(String(one))))
    throw new Refused(422, 'validation_failed', 'invalid subject')
  if (Buffer.byteLength(JSON.stringify(summary)) > 65_536)
    throw new Refused(413, 'payload_too_large', 'summary too large')
  const observed = new Date(drive.now()).toISOString()
  const entry = {
    tenant_id: 'local',
    journal_id: id,
    seq: journal.entries.length + 1,
    entry_id: `jre_${freshId()}`,
    type,
    schema_version: 1,
    occurred_at: at ?? observed,
    observed_at: observed,
    actor,
    source: 'self_reported',
    subjects: [...subjects].sort(),
    summary,
    prev_hash: headOf(journal),
  }
  return { ...entry, entry_hash: hashOf(entry) }
}

function list(journal: StoredJournal, { query }: Call): Reply {
  const after = Number(query.get('after_seq') ?? 0)
  const limit = Math.min(Number(query.get('limit') ?? 0) || 100, 1_000)
  const lines = journal.entries.filter(({ seq }) => seq > after).slice(0, limit)
  const body = lines.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body }
}

function verdict(journal: StoredJournal) {
  let previous = journal.genesis
  let ok = true
  for (const { entry_hash: hash, ...entry } of journal.entries) {
    if (entry.prev_hash !== previous || hashOf(entry) !== hash) ok = false
    previous = hash
  }
  return { ok, entries: journal.entries.length, head_hash: headOf(journal), hash_chain_ok: ok, projection_ok: true }
}
