// Sandbox B reads ranges of the stored files. Where something in them does not fit, and for old runs, it fetches and unpacks the clone.
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { RecordedRequest } from '../../../../src/emulators/faulty-server.js'
import { HandoffError } from '../../../../src/handoff/domain/errors.js'
import type { Drive } from '../../../../src/handoff/domain/ports.js'
import { answerQuestion, type RunEvent, type SummariseResult, summarise } from '../../../../src/handoff/index.js'
import { type LocalStack, startLocalStack } from '../../../support/local-stack.js'
import { makeRepository } from '../../../support/repository.js'
import { tokenFiles } from '../../../support/token-files.js'

const never = new AbortController().signal
const name = 'octo/tools'

async function sealed() {
  await using opening = new AsyncDisposableStack()
  const repository = opening.use(await makeRepository([{ ...tokenFiles, 'picture.png': randomBytes(3_000_000) }]))
  const stack = await startLocalStack({ repositories: { [name]: repository.directory } })
  opening.defer(() => stack.close())
  const commit = stack.commit(name, repository.head, 'refs/heads/main')
  const run = await summarise({ commit, attempt: 'one' }, stack.context, never)
  const kept = opening.move()
  return { stack, run, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Asks anew. `ranges` are those that were asked for, and `printed` is what the programs in the sandbox printed. */
async function ask(
  { context, clouds, commit }: LocalStack,
  { run }: SummariseResult,
  locate: Drive['locate'] = context.ports.drive.locate,
) {
  const from = clouds.drive.requests.length
  const events: RunEvent[] = []
  let printed = ''
  const { ports } = context
  const open: typeof ports.sandboxes.open = async (...words) => {
    const sandbox = await ports.sandboxes.open(...words)
    const listening: typeof sandbox.run = (command, options) => {
      const onOutput = (text: string) => {
        printed += text
        options.onOutput(text)
      }
      return sandbox.run(command, { ...options, onOutput })
    }
    return { ...sandbox, run: listening }
  }
  const drive = { ...ports.drive, locate }
  const watched = {
    ...ports,
    drive,
    emit: (one: RunEvent) => void events.push(one),
    sandboxes: { ...ports.sandboxes, open },
  }
  const { repository } = commit(name, run.slice(0, 40))
  const question = { text: 'How does `refreshToken` work?', fresh: true }
  const { record } = await answerQuestion(
    { repository, name: { run }, question },
    { ...context, ports: watched },
    never,
  )
  return { record, events, printed, ranges: clouds.drive.requests.slice(from).filter(isRange) }
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
  const { ranges } = await ask(here.stack, here.run, async (path, signal) => {
    const address = await locate(path, signal)
    if (address !== undefined) given.push(new URL(address).pathname)
    return address
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
    const { printed, ranges } = await ask(here.stack, here.run, locate(here.stack))
    expect(printed).not.toContain('"unpack"')
    expect(ranges.some(({ status }) => status >= 400)).toBe(refused)
    expect(ranges.some(({ status }) => status === 206)).toBe(true)
  },
  60_000,
)

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
