// Sandboxes that a repository has taken over. They hold their real tokens and lie in every record: what they wrote and what they say is changed by
// seeded mutations. Nothing that is not in the commit is served, sealed or quoted; the worst is that something is withheld.
//
// SEED=17 replays one; LONG=1 plays ten thousand of each.
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CompletedAnswer } from '../../src/handoff/domain/answer.js'
import { encodeAnswer } from '../../src/handoff/domain/answer.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import { stageOf } from '../../src/handoff/domain/run.js'
import type { ProgramRecord } from '../../src/handoff/domain/sandbox-protocol-decoder.js'
import { answerQuestion } from '../../src/handoff/workflows/answer/answer-question.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import { madeByTest } from '../support/call-log.js'
import { type Random, randomFrom } from '../support/random.js'
import { answerRecord } from '../support/records.js'
import type { Scenario, TestProcess } from '../support/scenario.js'
import { figuresText, runSchedules, type Schedule, schedulesFrom } from '../support/schedules.js'
import { type ScriptedStack, smallRepository, startScriptedStack } from '../support/scripted-stack.js'

const never = new AbortController().signal
/** In every text that a sandbox forges, and nowhere in the repository. */
const forged = 'FORGED'
let stack: ScriptedStack
let honest: ReturnType<ScriptedStack['sandboxProgram']['can']>
let place: Scenario
let process: TestProcess
let files: Map<string, string[]>

beforeAll(async () => {
  stack = await startScriptedStack({ files: smallRepository })
  honest = stack.sandboxProgram.can((usual) => usual)
  place = stack.scenario('octo/sealed')
  process = await stack.process({ patient: true })
  await summarise(place.summarise(process, 'first'), process.context, never)
  files = new Map(Object.entries(smallRepository).map(([path, text]) => [path, text.split('\n')]))
})

afterAll(async () => {
  await process?.close()
  await stack?.close()
})

type Record<T extends ProgramRecord['type']> = Extract<ProgramRecord, { type: T }>

/** Does something while the sandbox is taken over. The program is shared, so one at a time. */
async function takenOver<T>(change: (records: typeof honest) => typeof honest, work: () => Promise<T>): Promise<T> {
  stack.sandboxProgram.can(() => change(honest))
  try {
    return await work()
  } finally {
    stack.sandboxProgram.can(() => honest)
  }
}

// ── Sandbox B ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const packed = (text: string) => deflateRawSync(Buffer.from(text)).toString('base64')

/** Everything that the program of Sandbox B can print, changed in one way. */
const lies: ((records: ProgramRecord[], random: Random) => ProgramRecord[])[] = [
  (records, random) => changed(records, 'excerpt', (one) => ({ ...one, lines: withForged(one.lines, random) })),
  (records, random) => changed(records, 'excerpt', (one) => ({ ...one, from: one.from + 1 + random.below(3) })),
  (records) => changed(records, 'excerpt', (one) => ({ ...one, path: `src/${forged}.ts` })),
  (records) => changed(records, 'excerpt', (one) => ({ ...one, path: `../${one.path}` })),
  (records) => changed(records, 'excerpt', (one) => ({ ...one, source: 'summary', lines: [forged] })),
  (records, random) => changed(records, 'excerpt', (one) => ({ ...one, blob: hexOf(random) })),
  (records) => [
    ...records.filter(isNot('excerpt')),
    ...records.filter(is('excerpt')).map((one) => ({ ...one, from: 0 })),
  ],
  (records, random) => changed(records, 'object', (one) => ({ ...one, data: flipped(one.data, random) })),
  (records) => changed(records, 'object', (one) => ({ ...one, data: packed(`${forged}\n`) })),
  (records) => changed(records, 'object', (one) => ({ ...one, kind: 'blob' })),
  (records) => records.filter(isNot('object')),
  (records, random) => [
    ...records.map((one) => (one.type === 'excerpt' ? { ...one, lines: withForged(one.lines, random) } : one)),
    { v: 1, type: 'object', kind: 'blob', data: packed(`${forged}\n`.repeat(20)) },
  ],
  (records) => [{ v: 1, type: 'listing', path: 'src', entries: [`${forged}.ts`, 'greet.ts'] }, ...records],
  (records) =>
    changed(records, 'searched', (one) => ({
      ...one,
      terms: [forged],
      missing: [forged],
      unsearched: [`binary: "${forged}"`, forged],
    })),
  (records) => [...records, ...records],
  (records) => [{ v: 1, type: 'notice', text: `${forged}: sign in again.` }, ...records],
  (records) => [{ v: 1, type: 'card', path: `src/${forged}.ts`, names: [forged], says: forged }, ...records],
  (records) => [
    ...records.filter(is('excerpt')).map((one) => ({ ...one, type: 'notes' as const, lines: [forged] })),
    ...records,
  ],
]

const is =
  <T extends ProgramRecord['type']>(type: T) =>
  (one: ProgramRecord): one is Record<T> =>
    one.type === type
const isNot = (type: ProgramRecord['type']) => (one: ProgramRecord) => one.type !== type

function changed<T extends ProgramRecord['type']>(
  records: ProgramRecord[],
  type: T,
  change: (record: Record<T>) => Record<T>,
): ProgramRecord[] {
  return records.map((one) => (is(type)(one) ? change(one) : one))
}

const withForged = (lines: string[], random: Random) => lines.with(random.below(lines.length), `const x = '${forged}'`)
const hexOf = (random: Random) => Array.from({ length: 40 }, () => random.below(16).toString(16)).join('')

function flipped(data: string, random: Random): string {
  const bytes = Buffer.from(data, 'base64')
  bytes[random.below(bytes.length)]! ^= 1 << random.below(8)
  return bytes.toString('base64')
}

test('an honest sandbox gives excerpts that the host believes', async () => {
  const { record } = await answerQuestion(place.ask(process, 'How does greet greet?'), process.context, never)
  expect(record.excerpts.map(({ path }) => path)).toContain('src/greet.ts')
  expect(record.citations.some(({ verified }) => verified)).toBe(true)
})

test('Sandbox B cannot forge a line, a path, a listing or a word', async () => {
  const failures = await runSchedules(schedulesFrom(60, 10_000), searchSchedule, 1)
  console.log(`Sandbox B: ${figuresText(searches)}`)
  expect(failures).toEqual([])
}, 3_600_000)

/** How the changed searches ended. */
const searches = { answered: 0, refused: 0 }

async function searchSchedule(seed: number): Promise<Schedule> {
  const random = randomFrom(seed)
  const chosen = [lies[seed % lies.length]!, ...(random.below(2) === 0 ? [random.pick(lies)] : [])]
  const change = (usual: typeof honest) => ({
    ...usual,
    find: chosen.reduce((records, lie) => lie(records, random), usual.find),
  })
  const before = { prompts: stack.clouds.model.prompts.length, events: stack.events.length }
  const question = `How does greet greet, in case ${seed}?`
  const ask = () => answerQuestion(place.ask(process, question), process.context, never)
  const said = await takenOver(change, ask).then(
    ({ record }) => {
      searches.answered += 1
      return recordFaults(record)
    },
    (error: unknown) => {
      searches.refused += 1
      return isHandoffError(error) ? [] : [`not an error of ours: ${String(error)}`]
    },
  )
  // Cards are not proved. They are shown where the model chooses files, and it replies with numbers.
  const prompts = stack.clouds.model.prompts.slice(before.prompts).filter(({ task }) => task !== 'choose')
  const seen = JSON.stringify(stack.events.slice(before.events))
  stack.forget()
  return {
    plan: chosen.map((lie) => String(lies.indexOf(lie))).join(', '),
    wrong: [
      ...said,
      ...(JSON.stringify(prompts).includes(forged) ? ['the model was shown a forged line'] : []),
      ...(seen.includes(forged) ? ['the caller was shown a forged sentence'] : []),
    ],
  }
}

/** What of a stored answer is not of the commit. */
function recordFaults(record: CompletedAnswer): string[] {
  const wrong: string[] = []
  for (const { path, from, lines } of record.cited ?? [])
    for (const [index, line] of lines.entries())
      if (files.get(path)?.[from - 1 + index] !== line) wrong.push(`${path}:${from + index} is cited with ${line}`)
  for (const { path, verified, from } of record.citations)
    if (verified && files.get(path)?.[from - 1] === undefined) wrong.push(`a citation of ${path}:${from} counts`)
  if (JSON.stringify(record).includes(forged)) wrong.push('a forged text is stored')
  return wrong
}

// ── Sandbox A ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Every file that a run directory and the directory of its repository can have. */
const targets = (run: string, top: string) => [
  `${run}/analysis/qa/${'0'.repeat(32)}.json`,
  `${run}/analysis/qa-response.md`,
  `${run}/analysis/code-summary.md`,
  `${run}/analysis/summary.json`,
  `${run}/analysis/prose.json`,
  `${run}/analysis/handoff.json`,
  `${run}/analysis/files.json`,
  `${run}/analysis/outline.json`,
  `${run}/analysis/search-table.gz`,
  `${run}/analysis/search-pages`,
  `${run}/project/tools.git.tar`,
  `${run}/.handoff-marker`,
  `${top}/commits/${'a'.repeat(40)}.json`,
  `${top}/refs/heads/main.json`,
  `${top}/_service/budgets/x.json`,
]

const forgedAnswer = (run: string) => encodeAnswer(answerRecord({ run: run as never, text: forged }))

test('Sandbox A cannot put a file beside what it reported, with its real token', async () => {
  const failures = await runSchedules(schedulesFrom(26, 10_000), storeSchedule, 1)
  console.log(`Sandbox A: ${figuresText(summaries)}`)
  expect(failures).toEqual([])
}, 3_600_000)

/** How the attacked summaries ended. */
const summaries = { sealed: 0, refused: 0 }

async function storeSchedule(seed: number): Promise<Schedule> {
  const random = randomFrom(seed)
  const target = stack.scenario(`octo/taken-${seed}`)
  await using own = await stack.process({ patient: true })
  const request = target.summarise(own, 'first')
  const run = `${stack.repository.head}-first`
  const place = target.layout.run(run as never)
  const all = [...targets(place, target.layout.repository), ...targets(stageOf(place), stageOf(place))]
  const chosen = [all[seed % all.length]!, random.pick(all), random.pick(all)]
  stack.sandboxProgram.can(() => ({
    ...honest,
    summarise: [{ v: 1, type: 'notice', text: `${forged}: sign in again.` }, ...honest.summarise],
  }))
  const { emit } = own.context.ports
  let attacking: Promise<unknown> = Promise.resolve()
  own.context.ports.emit = (event) => {
    emit(event)
    if (event.type === 'sandbox-open') attacking = attack(chosen, forgedAnswer(run))
  }
  const done = await summarise(request, own.context, never).catch((error: unknown) => {
    if (!isHandoffError(error)) throw error
  })
  await attacking
  stack.sandboxProgram.can(() => honest)
  summaries[done === undefined ? 'refused' : 'sealed'] += 1
  const wrongNotices = (done?.handoff.notices ?? [])
    .filter((text) => text.includes(forged) && !text.startsWith('The sandbox reports: '))
    .map((text) => `handoff says by itself: ${text}`)
  if (done === undefined) return { plan: chosen.join(', '), wrong: foundWithoutSeal(target) }
  const { handoff, directory: sealed } = done
  const left = stack.clouds.drive.tree(sealed).filter(({ isDirectory }) => !isDirectory)
  const known = new Set([...handoff.artifacts.map(({ path }) => path), '.handoff-marker', 'analysis/handoff.json'])
  const unknown = left.map(({ path }) => path.slice(sealed.length + 1)).filter((path) => !known.has(path))
  const holding = left
    .filter(({ path }) => path !== `${sealed}/analysis/handoff.json`)
    .filter(({ path }) => stack.clouds.drive.readFile(path)!.includes(forged))
    .map(({ path }) => path)
  stack.clouds.drive.remove(target.layout.repository)
  stack.forget()
  const wrong = [
    ...wrongNotices,
    ...unknown.map((path) => `${path} is in the sealed run`),
    ...holding.map((path) => `${path} is forged`),
  ]
  return { plan: chosen.join(', '), wrong }
}

/** An attack may have a run refused. Then no reader finds one. */
function foundWithoutSeal({ layout }: Scenario): string[] {
  const pointer = layout.pointer(stack.repository.head)
  stack.forget()
  const isThere = stack.clouds.drive.readFile(pointer) !== undefined
  stack.clouds.drive.remove(layout.repository)
  return isThere ? ['the run was refused, and has a pointer'] : []
}

/**
 * With the token of the sandbox that was opened last: everything that drive9 can do with a path. It has no second names and does not append; a
 * replaced file and an upload in parts stand for both.
 */
async function attack(paths: string[], bytes: Uint8Array): Promise<void> {
  const machine = stack.clouds.sandboxes.sandboxes.at(-1)!
  const token = await waitFor(() => machine.commands.at(-1)?.environment['DRIVE9_API_KEY'])
  const call = (method: string, path: string, headers: object, body?: Uint8Array) =>
    fetch(`${stack.clouds.drive.url}/v1/fs${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, [madeByTest]: '1', ...headers },
      ...(body ? { body: Buffer.from(body) } : {}),
    }).then((answer) => answer.arrayBuffer())
  const json = { 'content-type': 'application/json' }
  const encoded = (value: object) => Buffer.from(JSON.stringify(value))
  const upload = (path: string) =>
    fetch(`${stack.clouds.drive.url}/v2/uploads/initiate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, [madeByTest]: '1', ...json },
      body: JSON.stringify({ path, total_size: bytes.length }),
    }).then((answer) => answer.arrayBuffer())
  for (const path of paths) {
    await call('PUT', path, {}, bytes)
    await call('POST', `${path}?rename=1`, { 'x-dat9-rename-source': paths[0]! })
    await call('POST', `${path}?copy=1`, { 'x-dat9-copy-source': paths[0]! })
    await call('POST', `${path}?create=1`, {})
    await call('POST', `${path}.d?mkdir=1`, {})
    await call('POST', `${path}.link?symlink=1`, json, encoded({ target: paths[0] }))
    await call('DELETE', path, {})
    await call('POST', `${path}?symlink=1`, json, encoded({ target: paths[0] }))
    await upload(path)
  }
}

async function waitFor<T>(find: () => T | undefined): Promise<T> {
  for (;;) {
    const found = find()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
