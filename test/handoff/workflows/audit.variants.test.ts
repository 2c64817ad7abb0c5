// What the journal has of a repository: each seal, answer, removal and refused question once, and never in the way of the work.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Fault } from '../../../src/emulators/faulty-server.js'
import { makeJournal } from '../../../src/handoff/clients/drive9/journal.js'
import { parseRepository } from '../../../src/handoff/domain/run.js'
import { answerQuestion, planPrune, prune, summarise } from '../../../src/handoff/index.js'
import { makeBudgets } from '../../../src/handoff/store/caller-budgets.js'
import { noteCorrection, noteRemoval } from '../../../src/handoff/workflows/audit-log.js'
import { type AuditEntry, readAudit } from '../../../src/handoff/workflows/read-audit.js'
import { type LocalStack, startLocalStack } from '../../support/local-stack.js'
import { makeRepository, type TestRepository } from '../../support/repository.js'
import { runProgram } from '../../support/run-program.js'
import { makeStoredRuns, sha } from '../../support/stored-runs.js'

const never = new AbortController().signal
const on = { HANDOFF_JOURNAL: 'true' }
let git: TestRepository
let stack: LocalStack
let older: LocalStack
let serial = 0
let name = ''

beforeAll(async () => {
  git = await makeRepository([
    { 'src/price.ts': 'export function priceOf(weight: number): number {\n  return weight * 2\n}\n' },
    { 'src/price.ts': 'export function priceOf(weight: number): number {\n  return weight * 3\n}\n' },
  ])
  const repositories = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`octo-${index}/r`, git.directory]))
  ;[stack, older] = await Promise.all([
    startLocalStack({ repositories, repeated: {} }),
    startLocalStack({ repositories, repeated: {}, clouds: { drive: { journals: false } } }),
  ])
})

afterAll(async () => {
  await Promise.all([stack?.close(), older?.close()])
  await git?.[Symbol.asyncDispose]()
})

beforeEach(() => {
  serial += 1
  name = `octo-${serial}/r`
})

const summarised = (at: LocalStack, context = at.makeContext(on), commit = git.head) =>
  summarise(
    { commit: at.commit(name, commit, 'refs/heads/main'), attempt: 'one', requestedBy: { actor: 'ann' } },
    context,
    never,
  )

const ask = (at: LocalStack, text: string, context = at.makeContext(on)) =>
  answerQuestion(
    {
      repository: at.commit(name, git.head).repository,
      cloneUrl: at.remote.cloneUrl(name),
      name: { commit: git.head },
      question: { text, asker: 'bob' },
      caller: 'team',
    },
    context,
    never,
  )

async function audit() {
  const { DRIVE9_SERVER: server = '', DRIVE9_API_KEY: key = '' } = stack.clouds.settings
  const entries: AuditEntry[] = []
  const journal = makeJournal({ server, key })
  const repository = parseRepository(name, 'git.example.org')
  const verdict = await readAudit(journal, '/handoff', repository, (entry) => entries.push(entry), never)
  return { ...verdict, list: entries }
}

/** Entries of the repository's journal as the server keeps them. */
const stored = () => [...stack.clouds.drive.journals.values()].find(({ title }) => title.endsWith(`/${name}`))!.entries

const notices = (at: LocalStack) => at.events.flatMap((event) => (event.type === 'notice' ? [event.text] : []))

test('a seal and an answer are noted with who asked, what it is about and what it cost', async () => {
  const { run } = await summarised(stack)
  const { record } = await ask(stack, 'What does priceOf return?')
  const { list, problem, entries } = await audit()
  expect({ problem, entries }).toEqual({ problem: undefined, entries: 2 })
  expect(list).toEqual([
    { at: expect.any(String), type: 'seal', who: 'ann', commit: git.head, text: run, run },
    {
      at: expect.any(String),
      type: 'answer',
      who: 'bob',
      commit: git.head,
      text: 'What does priceOf return?',
      run,
      answer: record.id,
    },
  ])
})

test('without the setting nothing is noted', async () => {
  await summarised(stack, stack.makeContext())
  await expect(audit()).rejects.toMatchObject({ code: 'not-found', next: expect.stringContaining('HANDOFF_JOURNAL') })
})

test('a stored answer is not noted again', async () => {
  await summarised(stack)
  await ask(stack, 'What does priceOf return?')
  await ask(stack, 'What does priceOf return?')
  expect((await audit()).list.map(({ type }) => type)).toEqual(['seal', 'answer'])
})

test('removed runs are noted, and what stays is not', async () => {
  await using there = await makeStoredRuns()
  const old = await there.sealed(sha(1), { days: 91 })
  await there.sealed(sha(2), { days: 3 })
  const journal = makeJournal({ server: there.drive.url, key: there.drive.ownerKey })
  const context = { ...there.context, journal }
  const request = { repository: there.repository, keepDays: 90, keepRuns: 50, unfinishedHours: 24 }
  await prune(await planPrune(request, context, never), context, never)
  const rows: AuditEntry[] = []
  await readAudit(journal, '/handoff', there.repository, (entry) => rows.push(entry), never)
  expect(rows.map(({ type, run }) => ({ type, run }))).toEqual([{ type: 'prune', run: old }])
})

test('more removed runs than one request may have are all noted', async () => {
  await using there = await makeStoredRuns()
  const journal = makeJournal({ server: there.drive.url, key: there.drive.ownerKey })
  const runs = Array.from({ length: 1_001 }, (_, index) => `${sha(index)}-first`)
  await noteRemoval({ ...there.context, journal }, there.repository, runs)
  const rows: AuditEntry[] = []
  await readAudit(journal, '/handoff', there.repository, (entry) => rows.push(entry), never)
  expect(rows.map(({ run }) => run)).toEqual(runs)
})

test('a caller without a budget is noted once a day', async () => {
  await summarised(stack)
  const context = stack.makeContext(on)
  const limits = { tokensPerDay: 1 }
  const budgets = makeBudgets(context.ports.drive, '/handoff', limits, context.ports.clock)
  const poor = { ...context, budgets }
  await ask(stack, 'What does priceOf return?', poor)
  await expect(ask(stack, 'Where is priceOf?', poor)).rejects.toMatchObject({ code: 'budget' })
  await expect(ask(stack, 'Who calls priceOf?', poor)).rejects.toMatchObject({ code: 'budget' })
  expect((await audit()).list.filter(({ type }) => type === 'refusal')).toEqual([
    { at: expect.any(String), type: 'refusal', who: 'team', commit: '', text: 'budget' },
  ])
})

test.each<[string, Fault, RegExp]>([
  ['creating the journal', { kind: 'answer', status: 500 }, /^\/v1\/journals$/],
  ['an entry', { kind: 'answer', status: 500 }, /^\/v1\/journals\/[^/]+\/entries$/],
])('%s that fails is a notice, and the run is sealed', async (_, fault, path) => {
  stack.clouds.drive.rule({ method: 'POST', path, times: 20, fault })
  const before = notices(stack).length
  const { run } = await summarised(stack)
  stack.clouds.drive.clearRules()
  expect(run).toContain(git.head)
  expect(notices(stack).slice(before)).toContainEqual(expect.stringMatching(/^The journal has no entry of this seal: /))
})

test('an entry whose reply was lost is there once', async () => {
  stack.clouds.drive.rule({ method: 'POST', path: /\/entries$/, skip: 1, times: 1, fault: { kind: 'lose-reply' } })
  await summarised(stack)
  stack.clouds.drive.clearRules()
  expect((await audit()).list.map(({ type }) => type)).toEqual(['seal'])
})

test('a server without journals is named in one notice, and the work goes on', async () => {
  const context = older.makeContext(on)
  await summarised(older, context)
  await ask(older, 'What does priceOf return?', context)
  expect(notices(older).filter((text) => text.includes('no journal'))).toHaveLength(1)
  expect(older.clouds.drive.unexpected).toEqual([])
})

test.each<[string, () => void, RegExp]>([
  [
    'changed',
    () => {
      stored()[0]!['summary'] = { run: 'forged' }
    },
    /hashes do not match/,
  ],
  [
    'removed',
    () => {
      stored().splice(1, 1)
    },
    /hashes do not match/,
  ],
])('an entry that was %s is noticed', async (_, tamper, problem) => {
  await summarised(stack)
  await ask(stack, 'What does priceOf return?')
  await ask(stack, 'Where is the weight doubled?')
  tamper()
  expect((await audit()).problem).toMatch(problem)
})

test('a list that is not what the server verified is noticed', async () => {
  await summarised(stack)
  await ask(stack, 'What does priceOf return?')
  const kept = stored()
    .slice(0, 1)
    .map((entry) => `${JSON.stringify(entry)}\n`)
  stack.clouds.drive.rule({
    method: 'GET',
    path: /\/entries\?/,
    times: 1,
    fault: { kind: 'answer', status: 200, body: kept.join('') },
  })
  expect((await audit()).problem).toBe('1 entries that drive9 verified are not listed.')
})

test.each([/\/verify$/, /\/entries\?/])('npm run audit says so when %s fails', async (path) => {
  await summarised(stack)
  stack.clouds.drive.rule({ method: 'GET', path, fault: { kind: 'answer', status: 500 } })
  const { code, stderr } = await runProgram('src/cli/audit.ts', ['--host', 'git.example.org', name], {
    ...stack.clouds.settings,
    DRIVE9_ROOT: '/handoff',
  })
  stack.clouds.drive.clearRules()
  expect(code).toBe(1)
  expect(stderr).toContain('drive9 answered 500')
})

test('npm run audit prints a row for each entry and the verdict', async () => {
  await summarised(stack)
  await ask(stack, 'What does priceOf return?')
  const settings = { ...stack.clouds.settings, DRIVE9_ROOT: '/handoff' }
  const whole = await runProgram('src/cli/audit.ts', ['--host', 'git.example.org', name], settings)
  expect(whole.code, whole.stderr).toBe(0)
  expect(whole.stdout.split('\n')[1]).toMatch(
    new RegExp(`^\\d{4}-\\S+ \\S+  answer +${git.head.slice(0, 7)}  bob .*What does priceOf return\\?$`),
  )
  expect(whole.stderr).toContain(`${name}: 2 of 2 entries, $0.0000; the chain is whole`)
  stored()[0]!['type'] = 'answer'
  const broken = await runProgram('src/cli/audit.ts', ['--host', 'git.example.org', '--json', name], settings)
  expect(broken.code).toBe(1)
  expect(
    broken.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).type),
  ).toEqual(['answer', 'answer'])
  expect(broken.stderr).toContain('THE CHAIN IS BROKEN')
})

test('a correction and its removal are listed with who said what of which answer', async () => {
  const { handoff } = await summarised(stack)
  const context = stack.makeContext(on)
  const repository = parseRepository(name, 'git.example.org')
  const correction = {
    id: 'issue-7',
    at: '2026-11-19T10:00:00.000Z',
    by: 'wanda',
    text: 'src/price.ts:2 It is times four.',
    answer: 'a'.repeat(32),
    commit: git.head,
    places: [],
  }
  const subject = { run: handoff, answer: correction.answer, corrections: [correction] }
  await noteCorrection(context, repository, { id: 'issue-7', by: 'wanda', done: 'written' }, subject)
  await noteCorrection(context, repository, { id: 'issue-9', by: 'xavier', done: 'removed' }, subject)
  const { list, problem } = await audit()
  expect(problem).toBeUndefined()
  expect(list.slice(1)).toEqual([
    expect.objectContaining({ type: 'correction', who: 'wanda', text: correction.text, answer: correction.answer }),
    expect.objectContaining({ type: 'retraction', who: 'xavier', text: correction.text, commit: git.head }),
  ])
})
