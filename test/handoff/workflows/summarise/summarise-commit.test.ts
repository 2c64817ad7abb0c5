// The first story on real servers: a push becomes a sealed run.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseRunId } from '../../../../src/handoff/domain/run.js'
import { layout, type RunEvent, summarise } from '../../../../src/handoff/index.js'
import { readSealed, sha256 } from '../../../../src/handoff/store/run-store.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { refusal } from '../../../support/refusal.js'
import { makeRepository, type TestRepository } from '../../../support/repository.js'

let stack: LocalStack
let repository: TestRepository
const name = 'octo/tools'

beforeAll(async () => {
  repository = await makeRepository({
    'README.md': '# Tools\n\nTools that greet people.\n',
    'package.json': '{ "name": "tools", "scripts": { "test": "node --test" } }\n',
    'src/greet.ts': 'export function greet(name: string): string {\n  return `Hello, ${name}`\n}\n',
    'bin/run.sh': { executable: '#!/bin/sh\necho hello\n' },
  })
  stack = await startLocalStack({ repositories: { [name]: repository.directory }, repeated: {} })
})

beforeEach(() => {
  stack.events.length = 0
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const never = new AbortController().signal
let attempts = 0
const nextAttempt = () => {
  attempts += 1
  return `test-${attempts}`
}
/** A repository of its own with the same commit. */
function makePlace() {
  const attempt = nextAttempt()
  const owned = `${attempt}/tools`
  stack.remote.serve(owned, repository.directory)
  const commit = stack.commit(owned, repository.head, 'refs/heads/main')
  const place = layout('/handoff', commit.repository)
  return {
    commit,
    place,
    summarise: (more: object = {}) => summarise({ commit, attempt: nextAttempt(), ...more }, stack.context, never),
    /** What the pointer of the commit says. */
    pointer: () => JSON.parse(stack.clouds.drive.readFile(place.pointer(repository.head))!.toString()),
  }
}
const storedBelow = (directory: string) =>
  stack.clouds.drive
    .tree(directory)
    .filter((entry) => !entry.isDirectory)
    .map(({ path }) => path)
const steps = (events: RunEvent[]) => events.filter((event) => event.type === 'step-end').map((event) => event.step)

test('a push becomes a sealed run that hashes to what its pointer says', async () => {
  const { place, summarise, pointer: readPointer } = makePlace()
  const result = await summarise()
  expect(result).toMatchObject({ reused: false, refMoved: true })
  const { drive } = stack.clouds
  const pointer = readPointer()
  expect(pointer).toMatchObject({ version: 1, run: result.run })
  expect(sha256(drive.readFile(`${result.directory}/analysis/handoff.json`)!)).toBe(pointer.handoff)
  for (const artifact of result.handoff.artifacts) {
    const bytes = drive.readFile(`${result.directory}/${artifact.path}`)!
    expect({ path: artifact.path, bytes: bytes.length, sha256: sha256(bytes) }).toEqual(artifact)
  }
  expect(result.handoff.artifacts.map(({ path }) => path).sort()).toEqual([
    'README.md',
    'analysis/code-summary.md',
    'analysis/files.json',
    'analysis/notes.json',
    'analysis/outline.json',
    'analysis/search-pages',
    'analysis/search-table.gz',
    'analysis/summary.json',
    'project/tools.git.tar',
  ])
  expect(JSON.parse(drive.readFile(place.ref('refs/heads/main'))!.toString())).toEqual({
    version: 1,
    commit: repository.head,
    ref: 'refs/heads/main',
  })
})

test('the sandbox has a lifetime, an egress list and a token for one directory, and is gone before the model is asked', async () => {
  const { place, summarise } = makePlace()
  const prompts = stack.clouds.model.prompts.length
  const { run } = await summarise()
  const machine = stack.clouds.sandboxes.sandboxes.at(-1)!
  expect(machine.killedAt!.getTime()).toBeLessThanOrEqual(stack.clouds.model.prompts[prompts]!.at)
  const record = place.sealNote(parseRunId(run))
  expect(storedBelow(place.commits).sort()).toEqual([record, place.pointer(repository.head)].sort())
  expect(machine.metadata).toMatchObject({ handoff: '1', role: 'summarise', run, attempt: run.slice(41) })
  expect(machine.endsAt.getTime() - machine.createdAt.getTime()).toBeLessThanOrEqual(961_000)
  expect(machine.networks.at(-1)).toMatchObject({ denyOut: ['0.0.0.0/0'] })
  const token = stack.clouds.drive.issuedTokens().at(-1)
  expect(token).toMatchObject({ revoked: true, scopes: [{ prefix: expect.stringContaining('/runs/') }] })
})

test('the same commit again needs no sandbox and no model', async () => {
  const { summarise } = makePlace()
  await summarise()
  const counts = () => [stack.clouds.sandboxes.sandboxes.length, stack.clouds.model.prompts.length]
  const before = counts()
  const result = await summarise()
  expect(result).toMatchObject({ reused: true, refMoved: true })
  expect(result.summary).toContain('## What it is and for whom')
  expect(counts()).toEqual(before)
})

test('a ref that a crash left behind is mended on the way', async () => {
  const { place, summarise } = makePlace()
  await summarise()
  stack.clouds.drive.remove(place.ref('refs/heads/main'))
  await summarise()
  expect(stack.clouds.drive.readFile(place.ref('refs/heads/main'))).toBeDefined()
})

test('a ref that cannot be written costs a notice, not the sealed run', async () => {
  const { summarise } = makePlace()
  const refuse = stack.clouds.drive.rule({
    method: 'PUT',
    path: /\/refs\/heads\//,
    fault: { kind: 'answer', status: 403, body: '{"error":"no"}' },
  })
  expect(await summarise()).toMatchObject({ reused: false, refMoved: false })
  expect(await summarise()).toMatchObject({ reused: true, refMoved: false })
  refuse()
  const notices = stack.events.flatMap((event) => (event.type === 'notice' ? [event.text] : []))
  expect(notices.filter((text) => text.includes('refs/heads/main'))).toHaveLength(2)
  expect((await summarise()).refMoved).toBe(true)
})

test('a pointer that a crash left behind is mended from the note, without a sandbox', async () => {
  const { place, summarise, pointer } = makePlace()
  const { run } = await summarise()
  stack.clouds.drive.remove(place.pointer(repository.head))
  const before = stack.clouds.sandboxes.sandboxes.length
  expect(await summarise()).toMatchObject({ run, reused: true })
  expect(stack.clouds.sandboxes.sandboxes.length).toBe(before)
  expect(pointer()).toMatchObject({ run })
})

test('a handoff that a sandbox forged is not believed without a note of the host', async () => {
  const { drive } = stack.clouds
  const { place, summarise } = makePlace()
  const { run, directory } = await summarise()
  const real = drive.readFile(`${directory}/analysis/handoff.json`)!
  drive.remove(place.pointer(repository.head))
  drive.remove(place.sealNote(parseRunId(run)))
  const forged = `${repository.head}-forged`
  drive.write(`${place.runs}/${forged}/analysis/handoff.json`, real.toString().replaceAll(run, forged))
  const result = await summarise()
  expect(result.reused).toBe(false)
  expect(result.run).not.toBe(forged)
})

test('force makes a new run, and the pointer never shows anything half', async () => {
  const { place, summarise } = makePlace()
  const before = await summarise()
  const seen: string[] = []
  let running = true
  const watch = (async () => {
    while (running) {
      const sealed = await readSealed(stack.context.ports.drive, place, repository.head, never)
      seen.push(sealed?.handoff.run ?? 'nothing')
    }
  })()
  const result = await summarise({ force: true })
  running = false
  await watch
  expect(result.reused).toBe(false)
  expect(result.run).not.toBe(before.run)
  expect(new Set(seen)).toEqual(new Set(seen.includes(result.run) ? [before.run, result.run] : [before.run]))
  expect(await readSealed(stack.context.ports.drive, place, repository.head, never)).toMatchObject({
    handoff: { run: result.run },
  })
})

test('of attempts that race for one commit one wins, and the others return its run', async () => {
  const { commit, place } = makePlace()
  const results = await Promise.all(
    [1, 2, 3].map((n) => summarise({ commit, attempt: `race-${n}` }, stack.makeContext(), never)),
  )
  expect(new Set(results.map((result) => result.run)).size).toBe(1)
  expect(results.filter((result) => !result.reused)).toHaveLength(1)
  // Every one is whole: a late request may still write the pointer of another.
  expect(storedBelow(place.runs).filter((path) => path.endsWith('handoff.json'))).toHaveLength(3)
  expect(storedBelow(place.runs).filter((path) => path.endsWith('.git.tar'))).toHaveLength(3)
})

test('an attempt that comes second finds a run although the first one’s pointer is deleted then', async () => {
  const { commit, place, summarise: first } = makePlace()
  const { run: earlier } = await first()
  const { drive } = stack.clouds
  const path = place.pointer(repository.head)
  const pointer = drive.readFile(path)!
  // The second attempt knows nothing of it until it writes the pointer.
  drive.remove(path)
  drive.remove(place.sealNote(earlier))
  const { ports } = stack.context
  let writes = 0
  const late: typeof ports.drive = {
    ...ports.drive,
    async write(to, ...given) {
      if (to === path && writes++ === 0) drive.write(path, pointer)
      return ports.drive.write(to, ...given)
    },
    async read(from, options) {
      const bytes = await ports.drive.read(from, options)
      if (writes === 1 && from.includes(earlier)) drive.remove(path)
      return bytes
    },
  }
  const context = { ...stack.context, ports: { ...ports, drive: late } }
  const second = await summarise({ commit, attempt: 'second' }, context, never)
  expect(second.run).toMatch(/-second$/)
  expect(JSON.parse(drive.readFile(path)!.toString())).toMatchObject({ run: second.run })
})

test('steps are reported in the order of the story', async () => {
  await makePlace().summarise()
  const order = steps(stack.events)
  for (const [first, later] of [
    ['look up', 'open sandbox'],
    ['clone', 'survey'],
    ['drain', 'close sandbox'],
    ['close sandbox', 'verify'],
    ['verify', 'summarise'],
    ['summarise', 'seal'],
    ['seal', 'point'],
  ] as const) {
    expect(order.indexOf(first), `${first} before ${later}`).toBeLessThan(order.indexOf(later))
  }
})

test('a commit that does not exist is a clear error, and nothing is sealed', async () => {
  const commit = stack.commit(name, 'f'.repeat(40))
  expect(await refusal(summarise({ commit, attempt: 'absent' }, stack.context, never))).toMatchObject({
    code: 'not-found',
    next: expect.stringContaining('commit id'),
  })
  const { pointer } = layout('/handoff', commit.repository)
  expect(stack.clouds.drive.readFile(pointer('f'.repeat(40)))).toBeUndefined()
})

test('an attempt whose directory already exists is refused, and its files stay unchanged', async () => {
  const sha = 'd'.repeat(40)
  const commit = stack.commit(name, sha)
  const path = `${layout('/handoff', commit.repository).run(parseRunId(`${sha}-taken`))}/.handoff-marker`
  await stack.context.ports.drive.write(path, new TextEncoder().encode('of another writer\n'), { signal: never })
  const error = await refusal(summarise({ commit, attempt: 'taken' }, stack.context, never))
  expect(error).toMatchObject({ code: 'conflict' })
  expect(stack.clouds.drive.readFile(path)!.toString()).toBe('of another writer\n')
  expect(stack.clouds.drive.issuedTokens().filter(({ revoked }) => !revoked)).toEqual([])
})

test('a repository that is not there is a clear error', async () => {
  const commit = stack.commit('octo/nothing', repository.head)
  const work = summarise({ commit, attempt: 'nowhere' }, stack.context, never)
  expect(await refusal(work)).toMatchObject({ code: 'git' })
})

test('an interrupted workflow leaves no sandbox and no pointer', async () => {
  const stop = new AbortController()
  const { commit, place } = makePlace()
  const context = stack.makeContext()
  const emit = context.ports.emit
  context.ports.emit = (event) => {
    emit(event)
    if (event.type === 'sandbox-open') stop.abort()
  }
  expect(await refusal(summarise({ commit, attempt: 'stopped' }, context, stop.signal))).toMatchObject({
    code: 'cancelled',
  })
  expect(stack.clouds.sandboxes.sandboxes.every((sandbox) => sandbox.state === 'gone')).toBe(true)
  expect(stack.clouds.drive.readFile(place.pointer(repository.head))).toBeUndefined()
})
