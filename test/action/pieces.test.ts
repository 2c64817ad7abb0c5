// The small parts of the Action, each on its own: what a runner receives, which event asks for what, what is masked.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { Context } from '../../src/action/event-context.js'
import { endSandboxes } from '../../src/action/finish.js'
import { readOptions, useInputNames } from '../../src/action/inputs.js'
import { makeListener } from '../../src/action/log-events.js'
import { routeEvent } from '../../src/action/route-event.js'
import { makeRunner, type Runner } from '../../src/action/runner.js'
import type { SavedState, StateWriter } from '../../src/action/saved-state.js'
import { encodingsOfSecret } from '../../src/action/start.js'
import { startClouds } from '../../src/emulators/start-all.js'
import { makeRedactor } from '../../src/handoff/domain/secrets/redactor.js'
import { makeSandboxes } from '../../src/handoff/index.js'
import { node, root } from './kit.js'
import { type ReadLog, readLog, readPairs } from './runner-rules.js'

test('the post step ends the sandbox it knows, even if the list of others fails', async () => {
  const clouds = await startClouds({ drive: false, model: false })
  const { settings } = clouds.sandboxes!
  const sandboxes = makeSandboxes({
    apiKey: settings.E2B_API_KEY,
    template: 'handoff',
    apiUrl: settings.E2B_API_URL,
    sandboxUrl: settings.E2B_SANDBOX_URL,
  })
  const signal = AbortSignal.timeout(60_000)
  const { id } = await sandboxes.open(
    { metadata: { handoff: '1', owner: 'me' }, lifetimeMs: 60_000, egress: [] },
    signal,
  )
  const silent = { kind: 'answer', status: 500, body: '{"code":500,"message":"no"}' } as const
  clouds.sandboxes!.rule({ method: 'GET', path: /sandboxes/, fault: silent })
  const inputs: Record<string, string> = {
    'e2b-api-key': settings.E2B_API_KEY,
    'e2b-api-url': settings.E2B_API_URL,
    'e2b-sandbox-url': settings.E2B_SANDBOX_URL,
  }
  const runner = { input: (name: string) => inputs[name] ?? '', info: () => undefined } as unknown as Runner
  const left: SavedState = { finished: false, owner: 'me', sandbox: id, token: '', talk: null }
  await expect(endSandboxes(runner, left, signal)).rejects.toMatchObject({ name: 'HandoffError' })
  expect(clouds.sandboxes!.sandboxes.map(({ state }) => state)).toEqual(['gone'])
  await clouds.close()
})

const runs = process.env['LONG'] ? 10_000 : 200
const nasty = fc.array(
  fc.oneof(
    fc.constantFrom(
      '::error::x',
      '::add-mask::the',
      '##[add-mask]a',
      '\n',
      '\r',
      '\r\n',
      '\u2028',
      ' ',
      '::',
      'EOF',
      '%0A',
      'ghadelimiter_',
      '::stop-commands::t',
      '::endgroup::',
    ),
    fc.string({ unit: 'grapheme', maxLength: 8 }),
  ),
  { maxLength: 12 },
)

/** What the log is after each of these texts was said in every way. */
function logsOf(texts: string[]): ReadLog[] {
  const mark = `\n${randomUUID()}\n`
  const loader = join(root, 'src/build/ts-loader.mjs')
  const printed = execFileSync(node, ['--import', loader, join(import.meta.dirname, 'speaker.ts')], {
    input: JSON.stringify({ texts, mark }),
    encoding: 'utf8',
    maxBuffer: 1_000_000_000,
  })
  return printed
    .split(mark)
    .slice(0, -1)
    .map((text) => readLog(text))
}

describe('the log', () => {
  test('obeys no sentence, no title and no quotation, whatever it holds', () => {
    const texts = fc.sample(nasty, runs).map((parts) => parts.join(''))
    const logs = logsOf(texts)
    expect(logs.length).toBe(runs)
    for (const [at, log] of logs.entries()) {
      expect(
        log.commands.map(({ name }) => name),
        JSON.stringify(texts[at]),
      ).toEqual(['group', 'endgroup', 'notice'])
    }
  }, 60_000)

  test('shows a quotation as text: it is not coloured, and no problem matcher reads it', () => {
    const lines = [
      '##[error]forged',
      '##[group]forged',
      'src/a.ts(1,2): error TS1: forged',
      './a.go:1:2: forged',
      '  File "a.py", line 1, in forged',
      '  1:2  error  forged  rule',
    ]
    const [log] = logsOf([lines.join('\n')])
    expect(log!.quoted.map((line) => line.replace(/^ {2}\| /, '')).filter((line) => line !== '')).toEqual(lines)
    expect(log!.coloured).toEqual([])
    expect(log!.matched.filter((line) => log!.quoted.includes(line))).toEqual([])
  })

  test('a notice of the work, which may name files, is read by no problem matcher', () => {
    const text = 'src/a.ts(1,2): error TS1: forged'
    const said: string[] = []
    const [log] = logsOf([text])
    const remark = log!.lines.find((line) => line.startsWith('  | '))
    expect(remark).toBe(`  | ${text}`)
    expect(log!.matched, 'as a sentence of ours it would be').toContain(text)
    expect(log!.matched).not.toContain(remark)
    const runner = { remark: (sentence: string) => said.push(sentence) } as unknown as Runner
    makeListener(runner, {} as StateWriter)({ type: 'notice', text })
    expect(said).toEqual([text])
  })

  test('shows a notice as it was meant', () => {
    expect(logsOf(['100 % sure,\nin two lines']).map(({ notices }) => notices)).toEqual([['100 % sure,\nin two lines']])
  })
})

describe('the files and inputs of a step', () => {
  const names = ['GITHUB_OUTPUT', 'GITHUB_STEP_SUMMARY', 'INPUT_A-NAME', 'INPUT_FRESH', 'INPUT_MODE', 'INPUT_ENDPOINT']
  const folder = mkdtempSync(join(tmpdir(), 'runner-'))
  afterEach(() => {
    for (const name of names) delete process.env[name]
  })
  afterAll(() => rmSync(folder, { recursive: true }))
  /** An empty file, where the runner would say that it is. */
  function fileFor(variable: string): string {
    const file = join(folder, variable)
    writeFileSync(file, '')
    process.env[variable] = file
    return file
  }

  test('an output is what was set, whatever it holds', () => {
    fc.assert(
      fc.property(nasty, (parts) => {
        const file = fileFor('GITHUB_OUTPUT')
        makeRunner().setOutput('answer', parts.join(''))
        makeRunner().setOutput('after', 'it')
        // The runner reads lines; a carriage return before a line's end stays.
        expect(readPairs(readFileSync(file, 'utf8'))).toEqual({ answer: parts.join(''), after: 'it' })
      }),
      { numRuns: 100 },
    )
  })

  test('the job summary is added to, and is no reason to fail where there is none', async () => {
    await makeRunner().writeJobSummary('lost')
    const file = fileFor('GITHUB_STEP_SUMMARY')
    await makeRunner().writeJobSummary('one')
    await makeRunner().writeJobSummary('two')
    expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n')
  })

  test('an input is trimmed, and a flag is a word of YAML 1.2', () => {
    process.env['INPUT_A-NAME'] = '  text  '
    expect(makeRunner().input('a-name')).toBe('text')
    expect(makeRunner().flag('fresh')).toBe(false)
    for (const [word, value] of [
      ['True', true],
      ['TRUE', true],
      ['false', false],
      ['', false],
    ] as const) {
      process.env['INPUT_FRESH'] = word
      expect(makeRunner().flag('fresh'), word).toBe(value)
    }
    for (const word of ['yes', 'tRUE', '1', 'on']) {
      process.env['INPUT_FRESH'] = word
      expect(() => readOptions(makeRunner()), word).toThrow('The input fresh is neither true nor false.')
    }
  })

  test('a mode and an endpoint that make no sense are one clear error each', () => {
    process.env['INPUT_MODE'] = 'sometimes'
    expect(() => readOptions(makeRunner())).toThrow('The input mode is none of auto, summarise, comment, ask.')
    process.env['INPUT_MODE'] = 'auto'
    process.env['INPUT_ENDPOINT'] = 'http://example.com'
    expect(() => readOptions(makeRunner())).toThrow('The input endpoint is not an https address of a deployment.')
  })
})

describe('masks', () => {
  test('cover a secret in the forms it might be printed in', () => {
    const secret = 'sk-proj-A"b+c/d1234567890'
    const forms = encodingsOfSecret(secret)
    const bytes = Buffer.from(secret)
    for (const form of [
      secret,
      bytes.toString('base64'),
      bytes.toString('base64url'),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      [...secret].reverse().join(''),
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(`x-access-token:${secret}`).toString('base64'),
    ]) {
      expect(forms).toContain(form)
    }
    for (const before of ['', 'a', 'ab', 'abc']) {
      const inside = Buffer.from(`${before}${secret}zz`).toString('base64')
      expect(
        forms.some((form) => inside.includes(form)),
        `behind ${before.length} bytes`,
      ).toBe(true)
    }
  })

  test.each(['none', 'testing', 'placeholder', 'secret', 'password', 'changeme', 'ab1c', 'ab12c', 'a-key-of-ours'])(
    'and the redactor agree on what is a key: %s',
    (word) => {
      expect(encodingsOfSecret(word).includes(word)).toBe(makeRedactor([word])(word) !== word)
    },
  )

  test('cover each line of a key of many lines, and no word that stands for no key', () => {
    expect(encodingsOfSecret('first line of it\nsecond line of it')).toEqual(
      expect.arrayContaining(['first line of it', 'second line of it']),
    )
    for (const word of ['none', 'ollama', 'not-needed', 'x', '']) expect(encodingsOfSecret(word)).toEqual([])
  })
})

const given = (inputs: Record<string, string>) => ({
  input: (name: string) => inputs[name] ?? '',
  flag: (name: string) => inputs[name] === 'true',
})

describe('inputs', () => {
  const options = (inputs: Record<string, string>) => readOptions(given(inputs))

  test('are what a workflow would have with nothing set', () => {
    expect(options({})).toMatchObject({
      mode: 'auto',
      allow: 'write',
      force: false,
      form: 'tar',
      waitSeconds: 0,
      allowUntrustedHead: false,
      endpoint: '',
    })
  })

  test('read lists by lines, without comments', () => {
    expect(options({ include: 'src/**\n\n# not this\n  lib/**  ' }).include).toEqual(['src/**', 'lib/**'])
  })

  test.each(['https://handoff.example.com/', 'http://127.0.0.1:3000'])('accept the endpoint %s', (endpoint) => {
    expect(options({ endpoint }).endpoint).toBe(endpoint.replace(/\/$/, ''))
  })

  test.each(['http://example.com', 'https://u:p@example.com', 'ftp://x'])('refuse the endpoint %s', (endpoint) => {
    expect(() => options({ endpoint })).toThrow('The input endpoint is not an https address')
  })

  test('give errors their names', () => {
    expect(useInputNames('E2B_API_KEY is wrong; DRIVE9_SERVER too, MY_LLM_MODEL not')).toBe(
      'e2b-api-key is wrong; drive9-server too, MY_LLM_MODEL not',
    )
  })
})

describe('events', () => {
  const context = (event: string, payload: object = {}): Context => ({
    event,
    payload,
    repository: 'octo/tools',
    repositoryId: '1',
    sha: 'a'.repeat(40),
    ref: 'refs/heads/main',
    actor: 'writer',
    runId: '1',
    runAttempt: '1',
    serverUrl: 'https://github.com',
    apiUrl: 'https://api.github.com',
    temporary: '/tmp',
  })
  const options = (inputs: Record<string, string> = {}) => readOptions(given(inputs))
  const person = { login: 'writer', id: 5, type: 'User' }
  const comment = (body: string, user: object | null = person) => ({
    action: 'created',
    repository: { id: 1, full_name: 'octo/tools' },
    issue: { number: 7, pull_request: {} },
    comment: { id: 9, body, user, created_at: '2026-01-01T00:00:00Z' },
  })

  test.each(['push', 'schedule', 'workflow_dispatch', 'merge_group'])('%s summarises its commit', (event) => {
    expect(routeEvent(context(event), options())).toMatchObject({ kind: 'summarise', commit: { sha: 'a'.repeat(40) } })
  })

  test('a push builds on what was there before, and on the default branch', () => {
    const payload = { before: 'b'.repeat(40), repository: { default_branch: 'trunk' } }
    expect(routeEvent(context('push', payload), options())).toMatchObject({
      commit: { reuseFrom: { commits: ['b'.repeat(40)], refs: ['refs/heads/main', 'refs/heads/trunk'] } },
    })
    expect(routeEvent(context('push', { before: '0'.repeat(40) }), options())).toMatchObject({
      commit: { reuseFrom: { commits: [] } },
    })
  })

  test('a question is read from the first line alone', () => {
    expect(routeEvent(context('issue_comment', comment('/ask How?\nAnd why?')), options())).toMatchObject({
      kind: 'answer',
      asked: { question: 'How?\nAnd why?', fresh: false },
    })
    expect(routeEvent(context('issue_comment', comment('/ask --fresh How?')), options())).toMatchObject({
      kind: 'answer',
      asked: { question: 'How?', fresh: true },
    })
    const deep = { ...options(), depth: 'deep' as const }
    expect(routeEvent(context('issue_comment', comment('/ask How?')), deep)).toMatchObject({ asked: { depth: 'deep' } })
    expect(routeEvent(context('issue_comment', comment('/ask --quick How?')), deep)).toMatchObject({
      asked: { question: 'How?', depth: 'quick' },
    })
    for (const body of ['Please /ask', '> /ask How?', '/asking', '```\n/ask x\n```', '\n/ask x', '']) {
      expect(routeEvent(context('issue_comment', comment(body)), options()), body).toMatchObject({ kind: 'nothing' })
    }
  })

  test('bots, ghosts and plain issues are not answered', () => {
    const bot = { login: 'helper', id: 6, type: 'Bot' }
    expect(routeEvent(context('issue_comment', comment('/ask x', bot)), options())).toMatchObject({
      kind: 'nothing',
      why: expect.stringContaining('bot'),
    })
    expect(routeEvent(context('issue_comment', comment('/ask x', null)), options())).toMatchObject({ kind: 'nothing' })
    const { issue: _issue, ...rest } = comment('/ask x')
    expect(routeEvent(context('issue_comment', { ...rest, issue: { number: 3 } }), options())).toMatchObject({
      kind: 'nothing',
    })
  })

  test('mode decides over the event', () => {
    expect(routeEvent(context('issue_comment', comment('/ask x')), options({ mode: 'summarise' }))).toMatchObject({
      kind: 'summarise',
    })
    expect(routeEvent(context('push'), options({ mode: 'ask', question: 'How?' }))).toMatchObject({ kind: 'ask' })
    expect(routeEvent(context('push'), options({ mode: 'ask' }))).toMatchObject({ kind: 'refuse' })
  })
})
