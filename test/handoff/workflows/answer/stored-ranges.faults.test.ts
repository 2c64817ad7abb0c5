// Sandbox B reads ranges of the stored files. Where something in them does not fit, and for old runs, it fetches and unpacks the clone.
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Fault, RecordedRequest } from '../../../../src/emulators/faulty-server.js'
import { longestQuestion } from '../../../../src/handoff/domain/answers/question.js'
import { HandoffError } from '../../../../src/handoff/domain/errors.js'
import type { Drive } from '../../../../src/handoff/domain/ports.js'
import type { FindTask } from '../../../../src/handoff/domain/sandbox-protocol.js'
import { answerQuestion, type RunEvent, type SummariseResult, summarise } from '../../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { type Files, makeRepository } from '../../../support/repository.js'
import { tokenFiles } from '../../../support/token-files.js'

const never = new AbortController().signal
const name = 'octo/tools'

async function sealed(more: Files = {}) {
  await using opening = new AsyncDisposableStack()
  const files = { ...tokenFiles, ...more, 'picture.png': randomBytes(3_000_000) }
  const repository = opening.use(await makeRepository([files]))
  const stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  opening.defer(() => stack.close())
  const commit = stack.commit(name, repository.head, 'refs/heads/main')
  const run = await summarise({ commit, attempt: 'one' }, stack.context, never)
  const kept = opening.move()
  return { stack, run, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Asks anew, and has a sandbox when `opens` allows it. `ranges` are those that were asked for, and `printed` is what the programs in the sandbox printed. */
async function ask(
  { context, clouds, commit }: LocalStack,
  { run }: SummariseResult,
  changed: Partial<Drive> = {},
  opens: Promise<unknown> = Promise.resolve(),
  text = 'How does `refreshToken` work?',
) {
  const from = clouds.drive.requests.length
  const events: RunEvent[] = []
  let printed = ''
  const tasks: FindTask[] = []
  const { ports } = context
  const open: typeof ports.sandboxes.open = async (...words) => {
    const [sandbox] = await Promise.all([ports.sandboxes.open(...words), opens])
    const listening: typeof sandbox.run = (command, options) => {
      const onOutput = (text: string) => {
        printed += text
        options.onOutput(text)
      }
      tasks.push(JSON.parse(options.environment['HANDOFF_TASK'] ?? '{}'))
      return sandbox.run(command, { ...options, onOutput })
    }
    return { ...sandbox, run: listening }
  }
  const drive = { ...ports.drive, ...changed }
  const watched = {
    ...ports,
    drive,
    emit: (one: RunEvent) => void events.push(one),
    sandboxes: { ...ports.sandboxes, open },
  }
  const { repository } = commit(name, run.slice(0, 40))
  const question = { text, fresh: true }
  const { record } = await answerQuestion(
    { repository, name: { run }, question },
    { ...context, ports: watched },
    never,
  )
  return { record, events, printed, tasks, ranges: clouds.drive.requests.slice(from).filter(isRange) }
}

const isRange = ({ headers }: RecordedRequest) => headers['range'] !== undefined

const bytesOf = (requests: RecordedRequest[]) =>
  requests.reduce((sum, { headers }) => {
    const [, from = 0, to = 0] = /^bytes=(\d+)-(\d+)$/.exec(headers['range'] ?? '') ?? []
    return sum + Number(to) - Number(from)
  }, 0)

test('of a large clone a few ranges are read', async () => {
  await using here = await sealed()
  const { ranges, record, events, printed } = await ask(here.stack, here.run)
  expect(ranges.length).toBeGreaterThan(0)
  expect(bytesOf(ranges)).toBeLessThan(100_000)
  expect(printed).not.toContain('"unpack"')
  expect(record.excerpts).toContainEqual(expect.objectContaining({ path: 'src/token.ts' }))
  expect(events).toContainEqual(expect.objectContaining({ type: 'excerpts-found', first: expect.anything() }))
}, 60_000)

test('ranges are read from the address that the host has when the sandbox is there', async () => {
  await using here = await sealed()
  const given: string[] = []
  const { locate } = here.stack.context.ports.drive
  const { ranges } = await ask(here.stack, here.run, {
    async locate(path, signal) {
      const address = await locate(path, signal)
      if (address !== undefined) given.push(new URL(address).pathname)
      return address
    },
  })
  expect(given).toHaveLength(1)
  expect(new Set(ranges.map(({ path }) => path.replace(/\?.*/, '')))).toEqual(new Set(given))
}, 60_000)

test.each<[string, (stack: LocalStack) => Drive['locate'], refused: boolean]>([
  ['cannot be had', () => () => Promise.reject(new HandoffError('drive', 'There is none.')), false],
  [
    'has expired',
    ({ context }) =>
      async (path, signal) => {
        const address = await context.ports.drive.locate(path, signal)
        return address && `${address}0`
      },
    true,
  ],
])(
  'a sandbox asks for an address itself where the host’s %s',
  async (_, locate, refused) => {
    await using here = await sealed()
    const { printed, ranges } = await ask(here.stack, here.run, { locate: locate(here.stack) })
    expect(printed).not.toContain('"unpack"')
    expect(ranges.some(({ status }) => status >= 400)).toBe(refused)
    expect(ranges.some(({ status }) => status === 206)).toBe(true)
  },
  60_000,
)

const isOfHost = ({ headers }: RecordedRequest) => headers['user-agent'] === 'handoff'

describe('of a large table', () => {
  /** The table of so many names is a large file. */
  const manyFiles = Object.fromEntries(
    Array.from({ length: 6_000 }, () => [
      `lib/${[...randomBytes(24)].map((byte) => 'abcdefgh'[byte % 8]).join('')}.ts`,
      'x',
    ]),
  )
  let here: Awaited<ReturnType<typeof sealed>>
  let first: Awaited<ReturnType<typeof ask>>

  /** Of a sandbox that opens when the host has read the first bytes, or failed to. */
  function afterStart(): [Partial<Drive>, Promise<unknown>] {
    const { drive } = here.stack.context.ports
    const tried = Promise.withResolvers<void>()
    return [{ readStart: (...words) => drive.readStart(...words).finally(tried.resolve) }, tried.promise]
  }

  beforeAll(async () => {
    here = await sealed(manyFiles)
    first = await ask(here.stack, here.run, ...afterStart())
  })
  afterAll(() => here?.[Symbol.asyncDispose]())
  afterEach(() => here.stack.clouds.drive.clearRules())

  test('the host reads the first bytes while the sandbox is opened, and hands them on', () => {
    const table = here.stack.clouds.drive.readFile(`${here.run.directory}/analysis/search-table.gz`)!
    expect(first.ranges.filter(isOfHost).map(({ headers }) => headers['range'])).toEqual(['bytes=0-59999'])
    expect(Buffer.from(first.tasks[0]?.tableStart ?? '', 'base64')).toEqual(Buffer.from(table.subarray(0, 60_000)))
    expect(first.printed).not.toContain('"unpack"')
  })

  test('beside the longest question they fit a variable of the environment', async () => {
    const text = `How does refreshToken work? ${'🦄'.repeat(longestQuestion - 30)}`
    const { tasks, printed, record } = await ask(here.stack, here.run, ...afterStart(), text)
    expect(tasks[0]?.tableStart).toBeDefined()
    expect(Buffer.byteLength(JSON.stringify(tasks[0]))).toBeGreaterThan(90_000)
    expect(printed).not.toContain('"unpack"')
    expect(record.excerpts).toContainEqual(expect.objectContaining({ path: 'src/token.ts' }))
  })

  test('a second search of the same sandbox gets the addresses only', async () => {
    const { model } = here.stack.clouds
    model.setBehaviour({ kind: 'ask-more' }, { task: 'answer', times: 1 })
    const { tasks } = await ask(here.stack, here.run, ...afterStart())
    expect(tasks.map(({ tableStart = '' }) => tableStart.length)).toEqual([80_000, 0])
    expect(tasks[1]!.addresses).toEqual(tasks[0]!.addresses)
  })

  test.each<[string, Fault, () => [Partial<Drive>?, Promise<unknown>?]]>([
    ['cannot read them', { kind: 'answer', status: 403, body: 'no' }, afterStart],
    ['waits for them when the sandbox is there', { kind: 'hang' }, () => []],
  ])('where the host %s the sandbox does without, and shows the same', async (_, fault, when) => {
    here.stack.clouds.drive.rule({ match: (request) => isRange(request) && isOfHost(request), fault })
    const { record, tasks, printed } = await ask(here.stack, here.run, ...when())
    expect(tasks.map(({ tableStart }) => tableStart)).toEqual([undefined])
    expect(printed).not.toContain('"unpack"')
    expect(record.excerpts).toEqual(first.record.excerpts)
  })
})

type Damage = (stack: LocalStack, run: SummariseResult) => Promise<unknown>

const damages: [string, Damage][] = [
  [
    'the object storage gives no ranges',
    async ({ clouds }) => clouds.drive.rule({ match: isRange, fault: { kind: 'answer', status: 500, body: 'no' } }),
  ],
  [
    'the table is not the sealed one',
    async ({ clouds }, { directory }) => {
      clouds.drive.write(`${directory}/analysis/search-table.gz`, randomBytes(1_000))
    },
  ],
]

test.each(damages)(
  'where %s the clone is fetched and unpacked, and the same lines are shown',
  async (_, damage) => {
    await using here = await sealed()
    const before = await ask(here.stack, here.run)
    await damage(here.stack, here.run)
    const { record, printed } = await ask(here.stack, here.run)
    expect(printed).toContain('"unpack"')
    expect(record.excerpts).toEqual(before.record.excerpts)
  },
  60_000,
)
