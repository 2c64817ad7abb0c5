// What the host makes of a sandbox program's end: its records, its failure, an early end, and secrets in any of them.
import { describe, expect, test } from 'vitest'
import type { Sandbox } from '../../../src/handoff/domain/ports.js'
import type { ProgramTask } from '../../../src/handoff/domain/sandbox-protocol.js'
import type { ProgramRecord } from '../../../src/handoff/domain/sandbox-protocol-decoder.js'
import { type LoadProgram, type ProgramName, runProgram } from '../../../src/handoff/sandbox/run-program.js'

const secret = 'token-of-the-mount-0123456789'
const mount = { server: 'https://drive.example/$(id)', remote: '/runs/$(pwd)' }
const task = { task: 'find', question: '$(whoami)', mount } as unknown as ProgramTask
type Run = Parameters<Sandbox['run']>

/** A sandbox whose program prints these lines and ends so. */
async function ended(
  lines: object[],
  end: { exitCode?: number; stderrTail?: string } = {},
  program = anyProgram,
  more: Partial<ProgramTask> = {},
) {
  const records: ProgramRecord[] = []
  const commands: Run[] = []
  const sandbox = {
    async run(...run: Run) {
      commands.push(run)
      // The last line has no end.
      run[1].onOutput(lines.map((line) => JSON.stringify({ v: 1, ...line })).join('\n'))
      return { exitCode: 0, stderrTail: '', ...end }
    },
  } as Partial<Sandbox> as Sandbox
  const running = runProgram(sandbox, {
    program,
    task: { ...task, ...more } as ProgramTask,
    secrets: { DRIVE9_API_KEY: secret },
    timeoutMs: 7,
    signal: new AbortController().signal,
    onRecord: (record) => records.push(record),
  })
  const error = await running.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return { records, commands, error }
}

const loaded: ProgramName[] = []
const anyProgram: LoadProgram = async (name) => {
  loaded.push(name)
  return `// ${name} ${'x'.repeat(3_000)}`
}
const done = { type: 'done' }

test('a program that says so is done; its records are handed on, and the last one is not', async () => {
  const { records, error } = await ended([{ type: 'listing', path: 'src', entries: [] }, done])
  expect(error).toBeUndefined()
  expect(records.map(({ type }) => type)).toEqual(['listing'])
})

describe('a process that has not ended when it says that it is done', () => {
  /** What the program says, and what comes after that. */
  async function said(text: string) {
    const records: ProgramRecord[] = []
    const end = Promise.withResolvers<never>()
    const sandbox = {
      run(...[, { onOutput }]: Run) {
        onOutput(text)
        return end.promise
      },
    } as Partial<Sandbox> as Sandbox
    const signal = new AbortController().signal
    const onRecord = (record: ProgramRecord) => void records.push(record)
    const running = runProgram(sandbox, { program: anyProgram, task, secrets: {}, timeoutMs: 7, signal, onRecord })
    const error: unknown = await running.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    end.reject(new Error('The sandbox was killed meanwhile.'))
    return { records, error }
  }

  test('is not waited for, and nothing that it still says counts', async () => {
    const { records, error } = await said('{"v":1,"type":"done"}\n{"v":1,"type":"listing","path":"src","entries":[]}\n')
    expect({ records, error }).toEqual({ records: [], error: undefined })
  })

  test('is not waited for in the middle of a line either', async () => {
    expect(await said('{"v":1,"type":"done"}\nhalf a li')).toEqual({ records: [], error: undefined })
  })

  test('has failed if it said so before', async () => {
    const { error } = await said(
      '{"v":1,"type":"failed","code":"mount-failed","message":"It."}\n{"v":1,"type":"done"}\n',
    )
    expect(error).toMatchObject({ code: 'drive', message: 'In the sandbox: It.' })
  })
})

test('secrets and the task are in the environment, and nothing of them in the command', async () => {
  const { commands } = await ended([done])
  const [command, { environment, timeoutMs }] = commands[0]!
  const began = { DRIVE9_SERVER: mount.server, DRIVE9_REMOTE: mount.remote }
  expect(environment).toEqual({ DRIVE9_API_KEY: secret, ...began, HANDOFF_TASK: JSON.stringify(task) })
  expect(timeoutMs).toBe(7)
  expect(command).not.toMatch(/whoami|token-of|example|\(id|\(pwd/)
  expect(Math.max(...command.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(1_000)
})

test.each<[string, Partial<ProgramTask>]>([
  ['of a further round', { again: true }],
  ['of a survey', { task: 'summarise' }],
])('the shell begins no mount for a program %s', async (_, more) => {
  const { commands } = await ended([done], {}, anyProgram, more)
  expect(Object.keys(commands[0]![1].environment)).toEqual(['DRIVE9_API_KEY', 'HANDOFF_TASK'])
})

test('the command of a search begins the mount, and that of a survey has none', async () => {
  const commandOf = async (more: Partial<ProgramTask>) => (await ended([done], {}, anyProgram, more)).commands[0]![0]
  expect(await commandOf({})).toMatch(/^exec node program\.mjs < <\(.*drive9 mount .*\)$/m)
  expect(await commandOf({ task: 'summarise' })).toMatch(/^exec node program\.mjs$/m)
})

test('a program is loaded and packed once', async () => {
  loaded.length = 0
  await ended([done])
  await ended([done])
  expect(loaded.length).toBeLessThanOrEqual(1)
  await ended([done], {}, async (name) => anyProgram(name))
  expect(loaded.at(-1)).toBe('search')
  await ended([done], {}, async (name) => anyProgram(name), { task: 'summarise' })
  expect(loaded.at(-1)).toBe('survey')
})

test.each<[string, object[], { exitCode?: number; stderrTail?: string }, string, RegExp]>([
  ['without its last record', [], {}, 'The program in the sandbox ended early (exit 0).', /^Try again/],
  ['with an exit code', [done], { exitCode: 1 }, 'The program in the sandbox ended early (exit 1).', /^Try again/],
  [
    'killed',
    [],
    { exitCode: 137, stderrTail: 'one\ntwo\n' },
    'The program in the sandbox ended early (exit 137): two.',
    /out of memory/,
  ],
  ['lost', [], { exitCode: -1 }, 'The program in the sandbox ended early (exit -1).', /out of memory/],
  [
    'with a secret in its last words',
    [],
    { exitCode: 1, stderrTail: `no ${secret}` },
    'The program in the sandbox ended early (exit 1): no [redacted].',
    /^Try again/,
  ],
])('a program that ends %s is an error', async (_, lines, end, message, next) => {
  const { error } = await ended(lines, end)
  expect(error).toMatchObject({ code: 'sandbox', message, next: expect.stringMatching(next) })
})

test('the last words of a program are cut', async () => {
  const { error } = await ended([], { exitCode: 1, stderrTail: 'x'.repeat(1_000) })
  expect((error as Error).message.length).toBeLessThan(400)
})

test('a failure is an error in the words of the program, without secrets, and a record before that', async () => {
  const failed = { type: 'failed', code: 'mount-failed', message: `It. Refused ${secret}.` }
  const { records, error } = await ended([failed, done], { exitCode: 1 })
  expect(error).toMatchObject({ code: 'drive', message: 'In the sandbox: It. Refused [redacted].' })
  expect(records).toEqual([expect.objectContaining({ type: 'failed', message: 'It. Refused [redacted].' })])
})

test('a notice has no secrets', async () => {
  const { records } = await ended([{ type: 'notice', text: `see ${secret}` }, done])
  expect(records).toEqual([expect.objectContaining({ type: 'notice', text: 'see [redacted]' })])
})
