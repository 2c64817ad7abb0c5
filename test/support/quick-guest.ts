// A tiny program for inside a sandbox: what the real one stored and printed once is stored and printed again, over drive9's HTTP API with the
// token it is handed. It takes a twentieth of a second where the real one takes half, so that hundreds of broken walks fit into a suite. What
// it does not do (mount, clone, survey) has tests of its own with the real one.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GuestRecord } from '../../src/handoff/library/records.js'

export interface Canned {
  /** By path relative to the run directory; the clone under `clone`. */
  files: { path: string; bytes: Uint8Array }[]
  summarise: GuestRecord[]
  find: GuestRecord[]
}

export interface QuickGuest extends Disposable {
  program: () => Promise<string>
  /** The same, which waits as long as it takes: for walks that nobody disturbs, on a machine that is busy. */
  patient: () => Promise<string>
}

export function quickGuest(canned: Canned): QuickGuest {
  const folder = mkdtempSync(join(tmpdir(), 'canned-'))
  const file = join(folder, 'canned.json')
  const files = canned.files.map(({ path, bytes }) => ({ path, text: Buffer.from(bytes).toString('base64') }))
  writeFileSync(file, JSON.stringify({ ...canned, files }))
  const text = (waitMs: number) => `const cannedFile = ${JSON.stringify(file)}\nconst waitMs = ${waitMs}\n${source}`
  return {
    program: async () => text(800),
    patient: async () => text(30_000),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

// Every refused or broken call is made once more, as the drive9 program does more patiently; then it says that it failed.
const source = `
import { readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
const { request } = createRequire('/')('node:http')
const task = JSON.parse(process.env.HANDOFF_TASK)
const canned = JSON.parse(readFileSync(cannedFile, 'utf8'))
const authorization = 'Bearer ' + process.env.DRIVE9_API_KEY
const say = (record) => writeSync(1, JSON.stringify({ ...record, v: 1 }) + '\\n')

function once(method, url, body, headers) {
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers, timeout: waitMs }, (answer) => {
      const pieces = []
      answer.on('data', (piece) => pieces.push(piece))
      answer.once('error', reject)
      answer.once('close', () => {
        const text = Buffer.concat(pieces).toString()
        if (!answer.complete) reject(new Error('broken off'))
        else if (answer.statusCode > 299) reject(new Error(String(answer.statusCode)))
        else resolve({ text, headers: answer.headers })
      })
    })
    call.once('timeout', () => call.destroy(new Error('silent')))
    call.once('error', reject)
    call.end(body)
  })
}
const ask = (method, url, body, headers = { authorization }) =>
  once(method, url, body, headers).catch(() => once(method, url, body, headers))
const post = async (path, value) => JSON.parse((await ask('POST', task.mount.server + path, JSON.stringify(value))).text)

async function store(path, bytes) {
  if (bytes.length < 50000) return ask('PUT', task.mount.server + '/v1/fs' + task.mount.remote + '/' + path, bytes)
  const plan = await post('/v2/uploads/initiate', { path: task.mount.remote + '/' + path, total_size: bytes.length })
  const upload = '/v2/uploads/' + plan.upload_id
  const { parts } = await post(upload + '/presign-batch', { parts: [{ part_number: 1 }] })
  const { headers } = await ask('PUT', parts[0].url, bytes, {})
  await post(upload + '/complete', { parts: [{ number: 1, etag: headers.etag }] })
}

try {
  const named = (path) => (path.startsWith('project/') ? 'project/' + task.repositoryName + '.git.tar' : path)
  if (task.task === 'summarise') {
    for (const { path, text } of canned.files) await store(named(path), Buffer.from(text, 'base64'))
  } else {
    await ask('GET', task.mount.server + '/v1/fs' + task.mount.remote + '/analysis/handoff.json')
  }
  for (const record of canned[task.task]) say(record.type === 'stored' ? { ...record, path: named(record.path) } : record)
} catch (error) {
  say({ type: 'failed', code: 'store-failed', message: 'the drive said ' + error.message })
  process.exitCode = 1
}
`
