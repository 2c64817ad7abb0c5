// Which run answers for a run id, a commit or a ref, and what a caller learns where none does.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { HandoffError } from '../../../../src/handoff/domain/errors.js'
import { layoutAsSpelled, type RunId } from '../../../../src/handoff/domain/run.js'
import { type RunName, resolveRun, type Where } from '../../../../src/handoff/workflows/answer/resolve-run.js'
import { makeStoredRuns, never, type StoredRuns, sha } from '../../../support/stored-runs.js'

let there: StoredRuns
/** What the git host says of its refs; undefined while it cannot be asked. */
let heads: Map<string, string>
let asked: { url: string; refs: string[] }[]

beforeEach(async () => {
  there = await makeStoredRuns()
  heads = new Map()
  asked = []
  there.context.ports.git = {
    async heads(url, refs) {
      asked.push({ url, refs })
      return heads
    },
  }
})
afterEach(() => there[Symbol.asyncDispose]())

const cloneUrl = 'https://git.example.org/octo/tools'
const resolve = (name: RunName, more: Partial<Where> = { cloneUrl }) =>
  resolveRun({ repository: there.repository, ...more }, name, there.context, never)
const refused = (name: RunName, more?: Partial<Where>) =>
  resolve(name, more).then(
    ({ handoff }) => `run ${handoff.run}`,
    ({ code, message, retryAfterSeconds }: HandoffError) => ({ code, message, retryAfterSeconds }),
  )
const main = 'refs/heads/main'

// ── a commit or a run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a commit and a run id lead to the run and its directory', async () => {
  const run = await there.sealed(sha(1))
  for (const name of [{ commit: sha(1) }, { run }])
    expect(await resolve(name)).toMatchObject({ handoff: { run }, directory: there.place.run(run) })
  expect(asked).toEqual([])
})

test('a run that does not speak for its commit is named with the one that does', async () => {
  const speaks = await there.sealed(sha(1))
  const other = await there.sealed(sha(1), { name: 'other', pointed: false })
  expect(await refused({ run: other })).toMatchObject({ code: 'not-sealed', message: expect.stringContaining(speaks) })
})

test.each<[string, RunName]>([
  ['commit', { commit: 'xyz' }],
  ['run id', { run: 'xyz' }],
  ['ref', { ref: 'refs/tags/v1' }],
])('a %s of no known form is refused', async (_, name) => {
  expect(await refused(name)).toMatchObject({ code: 'invalid-input' })
  expect(asked).toEqual([])
})

test('never summarised, being made and failed are kept apart, of a commit and of a run', async () => {
  const [made, failed] = [there.attempt(sha(2)), await there.daysAgo(1, async () => there.attempt(sha(3)))]
  there.attempt(sha(3).replace(/.$/, '9'))
  const never = { code: 'not-found', message: expect.stringMatching(/was never summarised/) }
  const making = { code: 'not-sealed', message: expect.stringMatching(/is being made/), retryAfterSeconds: 30 }
  const ended = { code: 'not-sealed', message: expect.stringMatching(/failed\.$/), retryAfterSeconds: undefined }
  for (const [name, expected] of [
    [{ commit: sha(1) }, never],
    [{ run: `${sha(2)}-other` }, never],
    [{ commit: sha(2) }, making],
    [{ run: made }, making],
    [{ commit: sha(3) }, ended],
    [{ run: failed }, ended],
  ] as const)
    expect(await refused(name)).toMatchObject(expected)
  for (const [name, words] of [
    [{ commit: sha(2) }, `Commit ${sha(2)} is`],
    [{ run: made }, `Run ${made} is`],
  ] as const)
    expect(await refused(name)).toMatchObject({ message: expect.stringContaining(words) })
  // One of two attempts is young.
  there.attempt(sha(3), [], 'second')
  expect(await refused({ commit: sha(3) })).toMatchObject(making)
})

test('an attempt counts as failed after an hour', async () => {
  there.attempt(sha(1))
  there.time.now += 3_600_000
  expect(await refused({ commit: sha(1) })).toMatchObject({ retryAfterSeconds: 30 })
  there.time.now += 1_000
  expect(await refused({ commit: sha(1) })).toMatchObject({ retryAfterSeconds: undefined })
})

test('a run whose pointer is missing is found, and gets it only from a reader that may write', async () => {
  const run = await there.sealed(sha(1), { pointed: false })
  there.ref(main, sha(1))
  for (const name of [{ commit: sha(1) }, { ref: main }]) {
    expect(await refused(name, { readOnly: true })).toBe(`run ${run}`)
    expect(there.drive.readFile(there.place.pointer(sha(1)))).toBeUndefined()
  }
  expect(await refused({ ref: main }, {})).toBe(`run ${run}`)
  expect(there.drive.readFile(there.place.pointer(sha(1)))).toBeDefined()
  there.drive.remove(there.place.pointer(sha(1)))
  expect(await refused({ commit: sha(1) }, {})).toBe(`run ${run}`)
  expect(there.drive.readFile(there.place.pointer(sha(1)))).toBeDefined()
})

// ── a ref ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each<[string, string]>([
  [main, main],
  ['refs/pull/7', 'refs/pull/7/head'],
])('%s leads to the run of its head at the host', async (ref, atHost) => {
  const run = await there.sealed(sha(1))
  heads.set(atHost, sha(1))
  const found = await resolve({ ref })
  expect(found).toMatchObject({ handoff: { run }, directory: there.place.run(run) })
  expect(found.behind).toBeUndefined()
  expect(asked).toEqual([{ url: cloneUrl, refs: [atHost] }])
})

test('without a run of the head, the newest that was summarised answers, and says that it is behind', async () => {
  const run = await there.sealed(sha(1))
  there.ref(main, sha(1))
  heads.set(main, sha(2))
  expect(await resolve({ ref: main })).toMatchObject({ handoff: { run }, behind: { head: sha(2) } })
})

test('with runs of both, the head answers', async () => {
  await there.sealed(sha(1))
  const run = await there.sealed(sha(2))
  there.ref(main, sha(1))
  heads.set(main, sha(2))
  const found = await resolve({ ref: main })
  expect(found.handoff.run).toBe(run)
  expect(found.behind).toBeUndefined()
})

test.each<[string, Partial<Where>]>([
  ['without an address of the host', {}],
  ['of a branch that the host does not have', { cloneUrl }],
])('the newest that was summarised answers %s', async (_, where) => {
  const run = await there.sealed(sha(1))
  there.ref(main, sha(1))
  const found = await resolve({ ref: main }, where)
  expect(found.handoff.run).toBe(run)
  expect(found.behind).toBeUndefined()
})

test('a head that the branch was summarised at is looked up once', async () => {
  await there.sealed(sha(1))
  there.ref(main, sha(1))
  heads.set(main, sha(1))
  const before = there.drive.requests.length
  await resolve({ ref: main })
  const looked = there.drive.requests.slice(before).filter(({ path }) => path.endsWith(there.place.pointer(sha(1))))
  expect(looked).toHaveLength(1)
})

test('the default branch is the one that the host names', async () => {
  const [older, newer] = [await there.sealed(sha(1)), await there.sealed(sha(2))]
  there.ref('refs/heads/trunk', sha(1))
  heads = new Map([
    ['HEAD', sha(3)],
    ['refs/heads/trunk', sha(3)],
  ])
  expect(await resolve({ ref: 'HEAD' })).toMatchObject({ handoff: { run: older }, behind: { head: sha(3) } })
  heads.set('HEAD', sha(2))
  expect(await resolve({ ref: 'HEAD' })).toMatchObject({ handoff: { run: newer } })
  expect(asked[0]).toEqual({ url: cloneUrl, refs: ['HEAD'] })
  heads = new Map([['HEAD', sha(1)]])
  expect(await resolve({ ref: 'HEAD' })).toMatchObject({ handoff: { run: older } })
})

test.each<[string, string, Partial<Where>, string]>([
  [
    main,
    sha(9),
    { cloneUrl },
    `refs/heads/main of octo/tools (its head is ${sha(9).slice(0, 12)}) has no summary yet.`,
  ],
  [main, sha(9), {}, 'refs/heads/main of octo/tools has no summary yet.'],
  ['HEAD', '', {}, 'The default branch of octo/tools has no summary yet.'],
])('%s without any run says so', async (ref, head, where, message) => {
  heads.set(ref, head)
  expect(await refused({ ref }, where)).toMatchObject({ code: 'not-found', message })
})

// ── where a directory is spelled as the repository was ────────────────────────────────────────────────────────────────────────────

/** Moves all that stands in the directory of lower case. */
function spell(owner: string, name: string): void {
  const other = layoutAsSpelled('/handoff', { ...there.repository, owner, name })
  for (const path of there.files(there.place.repository))
    there.drive.write(path.replace(there.place.repository, other.repository), there.drive.readFile(path)!)
  there.drive.remove(there.place.repository)
}

test('a run in a directory of an older spelling is found by all its names, with its directory', async () => {
  const run = await there.sealed(sha(1))
  there.ref(main, sha(1))
  spell('Octo', 'Tools')
  for (const name of [{ commit: sha(1) }, { run }, { ref: main }]) {
    const found = await resolve(name)
    expect([found.handoff.run, found.directory]).toEqual([run, `/handoff/git.example.org/Octo/Tools/runs/${run}`])
  }
})

test('the second of two older spellings is looked at if the first has no such run', async () => {
  await there.sealed(sha(1))
  spell('OCTO', 'tools')
  const run = await there.sealed(sha(2))
  spell('Octo', 'tools')
  expect(await refused({ commit: sha(2) })).toBe(`run ${run}`)
  expect(await refused({ commit: sha(3) })).toMatchObject({ code: 'not-found' })
})

const down = { kind: 'answer', status: 403, body: '{"error":"no"}' } as const

test('a drive that refuses is no reason to look elsewhere, in the first directory and in an older one', async () => {
  const run: RunId = await there.sealed(sha(1))
  spell('OCTO', 'tools')
  await there.sealed(sha(2))
  spell('Octo', 'tools')
  there.drive.rule({ path: /OCTO\/tools\/commits/, fault: down })
  expect(await refused({ commit: sha(2) })).toMatchObject({ code: expect.not.stringMatching(/not-found/) })
  there.drive.clearRules()
  there.drive.rule({ path: /octo\/tools\/commits/, fault: down })
  expect(await refused({ run })).toMatchObject({ code: expect.not.stringMatching(/not-found/) })
})

test('a commit that is being summarised is not looked for elsewhere', async () => {
  await there.sealed(sha(1))
  spell('Octo', 'tools')
  there.attempt(sha(1))
  expect(await refused({ commit: sha(1) })).toMatchObject({ code: 'not-sealed' })
})
