// The small parts of the door, each for itself: what a runner is told, which event asks for what, what is masked.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Context } from '../../src/action/context.js'
import { decide } from '../../src/action/events.js'
import { inInputWords, readOptions } from '../../src/action/inputs.js'
import { formsOfSecret } from '../../src/action/masks.js'
import { makeRunner } from '../../src/action/runner.js'
import { readLog, readPairs } from './runner-rules.js'

const runs = process.env['LONG'] ? 10_000 : 500
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

function open() {
  const folder = mkdtempSync(join(tmpdir(), 'runner-'))
  const file = join(folder, 'output')
  writeFileSync(file, '')
  let log = ''
  const runner = makeRunner({
    environment: { GITHUB_OUTPUT: file, 'INPUT_A-NAME': '  text  ' },
    write: (text) => {
      log += text
    },
    setExitCode: () => {},
  })
  return { runner, log: () => readLog(log), outputs: () => readPairs(readFileSync(file, 'utf8')) }
}

describe('the log', () => {
  test('obeys no sentence and no quotation, whatever it holds', () => {
    fc.assert(
      fc.property(nasty, (parts) => {
        const { runner, log } = open()
        runner.info(parts.join(''))
        runner.quote('A title', parts.join(''))
        runner.notice(parts.join(''))
        expect(log().commands.map(({ name }) => name)).toEqual(['group', 'endgroup', 'notice'])
      }),
      { numRuns: runs },
    )
  })

  test('shows a notice as it was meant', () => {
    const { runner, log } = open()
    runner.notice('100 % sure,\nin two lines')
    expect(log().notices).toEqual(['100 % sure,\nin two lines'])
  })
})

test('an output is what was set, whatever it holds', () => {
  fc.assert(
    fc.property(nasty, (parts) => {
      const { runner, outputs } = open()
      runner.setOutput('answer', parts.join(''))
      runner.setOutput('after', 'it')
      // The runner reads lines; a carriage return before a line's end stays.
      expect(outputs()).toEqual({ answer: parts.join(''), after: 'it' })
    }),
    { numRuns: 100 },
  )
})

describe('masks', () => {
  test('cover a secret in the forms it might be printed in', () => {
    const secret = 'sk-proj-A"b+c/d1234567890'
    const forms = formsOfSecret(secret)
    const bytes = Buffer.from(secret)
    for (const form of [
      secret,
      bytes.toString('base64'),
      bytes.toString('base64url'),
      bytes.toString('hex'),
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

  test('cover each line of a key of many lines, and no word that stands for no key', () => {
    expect(formsOfSecret('first line of it\nsecond line of it')).toEqual(
      expect.arrayContaining(['first line of it', 'second line of it']),
    )
    for (const word of ['none', 'ollama', 'not-needed', 'x', '']) expect(formsOfSecret(word)).toEqual([])
  })
})

describe('inputs', () => {
  const options = (inputs: Record<string, string>) => readOptions({ input: (name) => inputs[name] ?? '' })

  test('are what a workflow would have with nothing set', () => {
    expect(options({})).toMatchObject({
      mode: 'auto',
      allow: 'write',
      comment: false,
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

  test.each([
    ['https://handoff.example.com/', true],
    ['http://127.0.0.1:3000', true],
    ['http://example.com', false],
    ['https://u:p@example.com', false],
    ['ftp://x', false],
  ])('endpoint %s: %s', (endpoint, good) => {
    if (good) expect(options({ endpoint }).endpoint).toBe(endpoint.replace(/\/$/, ''))
    else expect(() => options({ endpoint })).toThrow('The input endpoint is not an https address')
  })

  test('give errors their names', () => {
    expect(inInputWords('E2B_API_KEY is wrong; DRIVE9_SERVER too, MY_LLM_MODEL not')).toBe(
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
  const options = (inputs: Record<string, string> = {}) => readOptions({ input: (name) => inputs[name] ?? '' })
  const person = { login: 'writer', id: 5, type: 'User' }
  const comment = (body: string, user: object | null = person) => ({
    action: 'created',
    repository: { id: 1, full_name: 'octo/tools' },
    issue: { number: 7, pull_request: {} },
    comment: { id: 9, body, user, created_at: '2026-01-01T00:00:00Z' },
  })

  test.each(['push', 'schedule', 'workflow_dispatch', 'merge_group'])('%s summarises its commit', (event) => {
    expect(decide(context(event), options())).toMatchObject({ kind: 'summarise', commit: { sha: 'a'.repeat(40) } })
  })

  test('a push builds on what was there before, and on the default branch', () => {
    const payload = { before: 'b'.repeat(40), repository: { default_branch: 'trunk' } }
    expect(decide(context('push', payload), options())).toMatchObject({
      commit: { reuseFrom: { commits: ['b'.repeat(40)], refs: ['refs/heads/main', 'refs/heads/trunk'] } },
    })
    expect(decide(context('push', { before: '0'.repeat(40) }), options())).toMatchObject({
      commit: { reuseFrom: { commits: [] } },
    })
  })

  test('a question is read from the first line alone', () => {
    expect(decide(context('issue_comment', comment('/ask How?\nAnd why?')), options())).toMatchObject({
      kind: 'answer',
      asked: { question: 'How?\nAnd why?', fresh: false },
    })
    expect(decide(context('issue_comment', comment('/ask --fresh How?')), options())).toMatchObject({
      kind: 'answer',
      asked: { question: 'How?', fresh: true },
    })
    for (const body of ['Please /ask', '> /ask How?', '/asking', '```\n/ask x\n```', '\n/ask x', '']) {
      expect(decide(context('issue_comment', comment(body)), options()), body).toMatchObject({ kind: 'nothing' })
    }
  })

  test('bots, ghosts and plain issues are not answered', () => {
    const bot = { login: 'helper', id: 6, type: 'Bot' }
    expect(decide(context('issue_comment', comment('/ask x', bot)), options())).toMatchObject({
      kind: 'nothing',
      why: expect.stringContaining('bot'),
    })
    expect(decide(context('issue_comment', comment('/ask x', null)), options())).toMatchObject({ kind: 'nothing' })
    const { issue: _issue, ...rest } = comment('/ask x')
    expect(decide(context('issue_comment', { ...rest, issue: { number: 3 } }), options())).toMatchObject({
      kind: 'nothing',
    })
  })

  test('mode decides over the event', () => {
    expect(decide(context('issue_comment', comment('/ask x')), options({ mode: 'summarise' }))).toMatchObject({
      kind: 'summarise',
    })
    expect(decide(context('push'), options({ mode: 'ask', question: 'How?' }))).toMatchObject({ kind: 'ask' })
    expect(decide(context('push'), options({ mode: 'ask' }))).toMatchObject({ kind: 'refuse' })
  })
})
