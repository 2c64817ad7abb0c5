// The emulator of Vercel hands a function what Vercel does. Two packages of Vercel are the witnesses: `@vercel/node` builds the functions of this
// test, and inside them `@vercel/functions` reads the context.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildFunction } from '../../src/emulators/vercel/build.js'
import { type RunningFunctions, startFunctions } from '../../src/emulators/vercel/start.js'
import { until } from '../support/until.js'

const probe = `
import { geolocation, getDeadline, waitUntil } from '@vercel/functions'

const events: string[] = []
let release = () => {}
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

export default {
  async fetch(request: Request): Promise<Response> {
    const raw = (globalThis as any)[Symbol.for('@vercel/request-context')].get()
    const { searchParams } = new URL(request.url)
    if (searchParams.has('slow')) {
      request.signal.addEventListener('abort', () => events.push('aborted'))
      events.push('begun')
      await pause(400)
      events.push('ended')
    }
    if (searchParams.has('later')) {
      // Long after the first word, in the same request.
      await pause(5)
      const { promise, resolve } = Promise.withResolvers<void>()
      release = resolve
      waitUntil(promise.then(() => void events.push('background')))
    }
    if (searchParams.has('release')) release()
    let refused = ''
    try {
      waitUntil(undefined as never)
    } catch (error) {
      refused = (error as Error).name
    }
    const deadline = getDeadline()
    return Response.json({
      deadline: deadline instanceof Date ? deadline.toISOString() : null,
      raw: raw.deadline ?? null,
      header: raw.headers['x-probe'] ?? null,
      country: geolocation(request).country ?? null,
      waits: typeof raw.waitUntil,
      refused,
      events,
    })
  },
}
`
const settings = {
  outputDirectory: 'public',
  functions: { 'api/cancellable.ts': { maxDuration: 20, supportsCancellation: true }, 'api/*.ts': { maxDuration: 10 } },
  rewrites: [],
  headers: [],
  crons: [],
}

let root: string
const running: RunningFunctions[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'functions-probe-'))
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  for (const folder of ['api', 'public', 'built/static']) mkdirSync(join(root, folder), { recursive: true })
  for (const name of ['@vercel/functions', '@types/node'])
    cpSync(join(import.meta.dirname, '../../node_modules', name), join(root, 'node_modules', name), { recursive: true })
  write('package.json', JSON.stringify({ type: 'module', engines: { node: '24.x' } }))
  write('tsconfig.json', JSON.stringify({ compilerOptions: { module: 'nodenext', target: 'es2024' } }))
  write('vercel.json', JSON.stringify(settings))
  for (const name of ['api/probe', 'api/cancellable']) {
    write(`${name}.ts`, probe)
    await buildFunction(root, join(root, 'built'), name, {})
  }
}, 120_000)

afterAll(async () => {
  await Promise.all(running.map((one) => one.close()))
  rmSync(root, { recursive: true, force: true })
})

async function start(deadline?: { inSeconds: number } | 'absent') {
  const built = { directory: join(root, 'built'), functions: [], milliseconds: 0 }
  const functions = await startFunctions({ root, built, environment: {}, ...(deadline ? { deadline } : {}) })
  running.push(functions)
  return functions
}

const seen = async (functions: RunningFunctions, path = 'probe') => {
  const response = await fetch(`${functions.url}/api/${path}`, { headers: { 'x-probe': 'yes' } })
  return (await response.json()) as Record<string, unknown> & { events: string[] }
}

test('the deadline is a string in RFC 3339, and says when the function’s own limit is over', async () => {
  const functions = await start()
  for (const [path, seconds] of [
    ['probe', 10],
    ['cancellable', 20],
  ] as const) {
    const before = Date.now()
    const found = await seen(functions, path)
    const after = Date.now()
    expect(found['raw']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(found['deadline']).toBe(found['raw'])
    const at = Date.parse(String(found['raw']))
    expect(at).toBeGreaterThanOrEqual(before + seconds * 1_000)
    expect(at).toBeLessThanOrEqual(after + seconds * 1_000)
  }
})

test('a deadline may be past, and may be absent', async () => {
  const [past, absent] = await Promise.all([start({ inSeconds: -60 }), start('absent')])
  expect(Date.parse(String((await seen(past))['deadline']))).toBeLessThan(Date.now())
  expect(await seen(absent)).toMatchObject({ deadline: null, raw: null, waits: 'function' })
})

test('the context has the headers, and work in the background is waited for', async () => {
  const functions = await start()
  const found = await seen(functions, 'probe?later')
  expect(found).toMatchObject({ header: 'yes', waits: 'function', refused: 'TypeError', events: [] })
  expect((await functions.state()).pending).toBe(1)
  await seen(functions, 'probe?release')
  await until('the work is done', async () => (await functions.state()).pending === 0)
  expect((await seen(functions)).events).toEqual(['background'])
})

test('only a function with supportsCancellation hears that its client has gone', async () => {
  const functions = await start()
  for (const [path, events] of [
    ['cancellable', ['begun', 'aborted', 'ended']],
    ['probe', ['begun', 'ended']],
  ] as const) {
    const leave = new AbortController()
    const asking = fetch(`${functions.url}/api/${path}?slow`, { signal: leave.signal })
    await until('it has begun', async () => (await seen(functions, path)).events.includes('begun'))
    leave.abort()
    await expect(asking).rejects.toThrow()
    await until('it has ended', async () => (await seen(functions, path)).events.includes('ended'))
    expect((await seen(functions, path)).events).toEqual(events)
  }
})
