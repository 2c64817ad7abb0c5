// Each key has one place: the host holds the owner's keys, and one sandbox holds a scoped token. After every scenario of the suite, the stack
// searches all other places for them. In the scenarios of this file, an attacker tries to make them leak.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { programFolder } from '../../src/emulators/start-all.js'
import type { Sandbox } from '../../src/handoff/domain/ports.js'
import type { SummariseTask } from '../../src/handoff/domain/sandbox-protocol.js'
import type { ProgramRecord } from '../../src/handoff/domain/sandbox-protocol-decoder.js'
import {
  answerMarkdown,
  answerQuestion,
  HandoffError,
  type SummariseResult,
  summarise,
} from '../../src/handoff/index.js'
import { runProgram } from '../../src/handoff/sandbox/run-program.js'
import { type LocalStack, startLocalStack } from '../support/local-stack.js'
import { makeRepository, type TestRepository } from '../support/repository.js'
import { encodings, keysOf, leaksInValues, leaksOf } from '../support/secrets.js'

const never = new AbortController().signal
const cloneToken = 'clone-secret-7f3a9b51c2d84e60'
/** Made for this test; they open nothing. */
const committed = {
  'an access key': 'AKIAZQ3DRSTUVWXY2345',
  'a token of GitHub': `ghp_${'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z5A'}`,
  'a key of a model': `sk-proj-${'Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe'}`,
}

let stack: LocalStack
let repository: TestRepository
let summary: SummariseResult
const name = 'octo/keys'

beforeAll(async () => {
  // The keys of the clouds are known only after those start. The repository also contains committed keys.
  stack = await startLocalStack({ repositories: {}, cloneToken })
  repository = await makeRepository({
    'README.md': `# Keys\n\nThis tool sends the key ${committed['a token of GitHub']} to the service.\n`,
    'src/settings.ts': [
      `export const accessKeyId = '${committed['an access key']}'`,
      `export const modelKey = '${committed['a key of a model']}'`,
      `export const ours = '${stack.clouds.drive.ownerKey}'`,
      `export const theirs = "${stack.clouds.model.key}"`,
      '',
    ].join('\n'),
  })
  stack.remote.serve(name, repository.directory)
  summary = await summarise({ commit: commit(), attempt: 'first', cloneToken }, stack.context, never)
})

afterAll(async () => {
  await stack?.close()
  await repository?.[Symbol.asyncDispose]()
})

const commit = () => stack.commit(name, repository.head, 'refs/heads/main')

test('a repository with keys is summarised and asked about, and no key leaves it', async () => {
  const question = { text: 'Which keys are in src/settings.ts, and what is accessKeyId?' }
  const answer = await answerQuestion(
    { repository: commit().repository, name: { run: summary.run }, question },
    stack.context,
    never,
  )
  const prompts = stack.clouds.model.prompts.map(({ text }) => text)
  expect(prompts.some((text) => text.includes('accessKeyId'))).toBe(true)
  const all = { ...keysOf(stack.clouds), ...committed, 'the clone token': cloneToken }
  expect(leaksInValues({ summary, answer, prompts, events: stack.events }, all)).toEqual([])
})

test('no file, record or comment has a key, in any usual encoding', () => {
  const all = { ...keysOf(stack.clouds), ...committed, 'the clone token': cloneToken }
  // The clone is the repository itself, with its keys. A user who may read the directory may read the repository.
  const stored = stack.clouds.drive.readAll().filter(({ path }) => !path.endsWith('.git.tar'))
  expect(stored.length).toBeGreaterThan(6)
  expect(
    leaksInValues(Object.fromEntries(stored.map(({ path, bytes }) => [path, bytes.toString('latin1')])), all),
  ).toEqual([])
})

test.each(
  Object.keys(keysOf({ sandboxes: { settings: {} }, drive: {}, model: {} } as never)).concat('the clone token'),
)('a model reply with %s, in each usual encoding, is redacted', async (which) => {
  const secret = which === 'the clone token' ? cloneToken : keysOf(stack.clouds)[which]!
  const said = encodings(secret)
    .map((form) => `It is ${form} in some form.`)
    .join('\n\n')
  const stop = stack.clouds.model.setBehaviour({ kind: 'say', text: said })
  const before = stack.events.length
  const question = { text: `What does ${which.replaceAll(/[^a-z]/g, ' ')} open?` }
  const answer = await answerQuestion(
    { repository: commit().repository, name: { commit: repository.head }, question },
    stack.context,
    never,
  )
  stop()
  expect(answer.record.text).toContain('[redacted]')
  const heard = { answer, events: stack.events.slice(before) }
  expect(leaksInValues(heard, { [which]: secret })).toEqual([])
})

const lastWords = `
const token = process.env.DRIVE9_API_KEY
console.error('no more of ' + token + ' for me')
process.exitCode = 3
`

describe('an error shows no key', () => {
  const complaining = (script: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'complaining-'))
    chmodSync(folder, 0o755)
    // It says what it is and what it can do as the program does.
    const honest = `case "$*" in *--help|--version) exec ${programFolder}/drive9 "$@";; esac`
    writeFileSync(join(folder, 'drive9'), `#!/bin/sh\n${honest}\n${script}\n`, { mode: 0o755 })
    return folder
  }

  test.each([
    ['as a failed mount', 'echo "bad key $DRIVE9_API_KEY" >&2; exit 1'],
    ['in base64', 'echo "bad key $(printf %s $DRIVE9_API_KEY | base64 -w0)" >&2; exit 1'],
    [
      'in what it says of a drain',
      `[ "$2" = drain ] && echo "{\\"ok\\":false,\\"error\\":\\"$DRIVE9_API_KEY\\"}" && exit 1\nexec ${programFolder}/drive9 "$@"`,
    ],
  ])('when drive9 in the sandbox repeats its token %s', async (_how, script) => {
    const folder = complaining(script)
    const other = await startLocalStack({
      repositories: { [name]: repository.directory },
      clouds: { sandboxes: { path: [folder, programFolder] } },
    })
    const error: unknown = await summarise(
      { commit: other.commit(name, repository.head), attempt: 'first' },
      other.context,
      never,
    ).catch((reason: unknown) => reason)
    const command = other.clouds.sandboxes.sandboxes.at(-1)!.commands.at(-1)!
    const token = command.environment['DRIVE9_API_KEY']!
    expect(token.length).toBeGreaterThan(20)
    expect(error).toMatchObject({ code: 'drive' })
    expect(leaksInValues({ error, cause: (error as Error).cause, stack: (error as Error).stack }, { token })).toEqual(
      [],
    )
    await other.close()
    rmSync(folder, { recursive: true })
  })

  test('when a sandbox program crashes with its token in stderr', async () => {
    const context = stack.makeContext()
    context.program = async () => lastWords
    const order = { commit: commit(), attempt: 'broken-off', force: true }
    const error: unknown = await summarise(order, context, never).catch((reason: unknown) => reason)
    const token = stack.clouds.sandboxes.sandboxes.at(-1)!.commands.at(-1)!.environment['DRIVE9_API_KEY']!
    expect(error).toMatchObject({ code: 'sandbox', message: expect.stringContaining('no more of [redacted] for me') })
    expect(leaksInValues({ error, stack: (error as Error).stack }, { token })).toEqual([])
  })

  test('when a sandbox program prints its token', async () => {
    const heard: ProgramRecord[] = []
    const said = [
      { v: 1, type: 'notice', text: `It is ${cloneToken}.` },
      { v: 1, type: 'done' },
    ].map((record) => `${JSON.stringify(record)}\n`)
    const sandbox: Pick<Sandbox, 'run'> = {
      async run(_command, { onOutput }) {
        onOutput(said.join(''))
        return { exitCode: 0, stderrTail: '' }
      },
    }
    await runProgram(sandbox as Sandbox, {
      program: async () => '',
      task: { task: 'summarise' } as SummariseTask,
      secrets: { TOKEN: cloneToken },
      timeoutMs: 1_000,
      signal: never,
      onRecord: (record) => heard.push(record),
    })
    expect(heard).toEqual([{ v: 1, type: 'notice', text: 'It is [redacted].' }])
  })

  test('when its cause has one', () => {
    const error = new HandoffError('drive', 'It went wrong.', { cause: new Error(`Bearer ${cloneToken}`) })
    expect(
      leaksInValues({ shown: JSON.stringify({ error, list: [error] }), said: String(error) }, { cloneToken }),
    ).toEqual([])
  })

  test.each([
    ['the sandboxes', { E2B_API_KEY: 'e2b_wrong0123456789wrong0123456789' }],
    ['the drive', { DRIVE9_API_KEY: 'drive9_wrong0123456789wrong0123456789' }],
    ['the model', { LLM_API_KEY: 'sk-wrong0123456789wrong0123456789' }],
  ])('when %s refuse it and repeat it', async (which, settings: Record<string, string>) => {
    const context = stack.makeContext(settings)
    const error: unknown = await summarise(
      { commit: commit(), attempt: `wrong-${which.length}`, force: true },
      context,
      never,
    ).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(Error)
    const keys = { 'the wrong key': Object.values(settings)[0]!, ...keysOf(stack.clouds) }
    expect(leaksInValues({ error, cause: (error as Error).cause, stack: (error as Error).stack }, keys)).toEqual([])
  })
})

test('a key in a question is redacted in the answer store, the prompt, the comment and the log', async () => {
  const context = stack.makeContext()
  const [ours, theirs] = [stack.clouds.model.key, committed['a token of GitHub']]
  const text = `Is ${ours} or ${theirs} or ${Buffer.from(ours).toString('base64')} the key of src/settings.ts?`
  const [events, prompts] = [stack.events.length, stack.clouds.model.prompts.length]
  const request = { repository: commit().repository, name: { commit: repository.head }, question: { text } }
  const answer = await answerQuestion(request, context, never)
  expect(answer.record.question).toMatch(
    /^Is \[redacted\] or \[redacted\] or \[redacted\]\S* the key of src\/settings\.ts\?$/,
  )
  const stored = stack.clouds.drive
    .readAll()
    .filter(({ path }) => path.includes(answer.record.id) || /latest|qa/.test(path))
  expect(stored.length).toBeGreaterThan(1)
  const asked = stack.clouds.model.prompts.slice(prompts).map((prompt) => prompt.text)
  expect(asked.join()).toContain('[redacted]')
  const heard = {
    answer,
    asked,
    comment: answerMarkdown(answer.record, { host: 'git.example.org', repository: name }, { form: 'comment' }),
    log: stack.events.slice(events),
    answers: stored.map(({ bytes }) => bytes.toString()),
  }
  expect(leaksInValues(heard, { ours, theirs })).toEqual([])
})

test('the scan itself finds a key in each place and encoding', () => {
  const secret = cloneToken
  for (const form of encodings(secret)) {
    expect(
      leaksInValues({ text: `before ${form} after`, nested: { deep: [{ form }] } }, { secret }).length,
    ).toBeGreaterThanOrEqual(2)
  }
  const error = Object.assign(new Error('plain'), { cause: new Error(`with ${secret}`) })
  expect(leaksInValues({ error }, { secret })).not.toEqual([])
  expect(leaksOf(stack.clouds, [{ type: 'notice', text: stack.clouds.model.key }], [secret])).toContain(
    "the model's key in an event",
  )
})
