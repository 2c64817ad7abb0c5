// The rules of the runner that the Action's tests rest on, each with what the runner's own source does.
import { describe, expect, test } from 'vitest'
import { readLog, readPairs, refusedFiles } from './runner-rules.js'

const named = (raw: string) => readLog(raw).commands.map(({ name, data }) => [name, data])

describe('commands', () => {
  test.each([
    ['::error::bad', 'error', 'bad'],
    ['  \t::error::after blanks', 'error', 'after blanks'],
    ['::ERROR::in any case', 'error', 'in any case'],
    ['::error file=a.ts,line=3::at a place', 'error', 'at a place'],
    ['::error::100%25 of%0Atwo lines', 'error', '100% of\ntwo lines'],
    ['::error::%3A stays', 'error', '%3A stays'],
    ['said ##[error]anywhere', 'error', 'anywhere'],
    ['##[error]%5D is a bracket', 'error', '] is a bracket'],
    ['::error ::a::b', 'error', 'a::b'],
  ])('%j is one', (line, name, data) => {
    expect(named(line)).toEqual([[name, data]])
  })

  test.each(['said ::error::later', '::error:', '::eror::unknown', ':: error::no name', '##[error', '##[eror]unknown'])(
    '%j is none',
    (line) => {
      expect(readLog(line)).toMatchObject({ commands: [], lines: [line] })
    },
  )

  test('have properties, decoded', () => {
    const [command] = readLog('::notice title=a%2Cb%3Ac,file=x%25.ts::t').commands
    expect(command!.properties).toEqual({ title: 'a,b:c', file: 'x%.ts' })
  })

  test.each(['\r', '\n', '\r\n'])('end with the line, at %j', (end) => {
    expect(named(`x${end}::error::y${end}z`)).toEqual([['error', 'y']])
  })

  test('are stopped until the token comes back, in any form and case', () => {
    const log = readLog(['::stop-commands::ToKen', '::error::a', '##[error]b', '::tOken::', '::error::c'].join('\n'))
    expect([log.errors, log.quoted, log.refused]).toEqual([['c'], ['::error::a', '##[error]b'], []])
    expect(readLog('::stop-commands::t\nx ##[t]\n::error::c').errors).toEqual(['c'])
  })

  test.each(['::stop-commands::', '::stop-commands::error', '::stop-commands::Pause-Logging'])(
    '%j is refused',
    (line) => {
      expect(readLog(line).refused).toHaveLength(1)
    },
  )

  test.each(['::set-env name=A::b', '::add-path::/x', '::set-output::x', '::save-state::x', '::echo::maybe'])(
    'the step fails with %j',
    (line) => {
      expect(readLog(line).refused).toHaveLength(1)
    },
  )

  test('annotate ten times of a kind, with 4,096 characters', () => {
    const { errors } = readLog(`::error::${'x'.repeat(5_000)}\n${'::error::y\n'.repeat(20)}`)
    expect(errors.map(({ length }) => length)).toEqual([4_096, ...Array.from({ length: 9 }, () => 1)])
  })

  test('mask a text and each line of it', () => {
    expect(readLog('::add-mask::one%0A two ').masks).toEqual(['one\n two ', 'one', 'two'])
  })
})

test('an older command of a guarded line colours the log, and a diagnostic there becomes an annotation', () => {
  const guarded = ['##[error]forged', 'src/a.ts(1,2): error TS1: forged', 'plain', '  1:2  error  forged  rule']
  const log = readLog(['::stop-commands::t', ...guarded, '::t::'].join('\n'))
  expect([log.coloured, log.matched]).toEqual([[guarded[0]], [guarded[1], guarded[3]]])
})

describe('files', () => {
  test('have pairs on one line or between delimiters, whichever sign comes first', () => {
    expect(readPairs('a=b=c<<d\ne<<=\nx=1\n=\nf=\na=last\ng<<E\r\n1\nE\r\n')).toEqual({
      a: 'last',
      e: 'x=1',
      f: '',
      g: '1',
    })
  })

  test.each(['word\n', '=value\n', '<<E\nx\nE\n', 'a<<\nx\n\n', 'a<<E\nx', 'a<<E\nx\n E\n'])(
    '%j cannot be read',
    (text) => {
      expect(() => readPairs(text)).toThrow()
    },
  )

  const files = { output: '', state: '', env: '', path: '', summary: '' }

  test.each([
    ['a summary of more than 1024k', { summary: 'é'.repeat(524_289) }],
    ['outputs of more than 1 MB together', { output: `a=${'x'.repeat(300_000)}\nb=${'x'.repeat(300_000)}\n` }],
    ['NODE_OPTIONS', { env: 'node_options=--inspect\n' }],
  ])('%s are refused', (_what, written) => {
    expect(refusedFiles({ ...files, ...written })).toHaveLength(1)
  })

  test('of an allowed size are taken', () => {
    const written = { summary: 'x'.repeat(1_048_576), output: `a=${'x'.repeat(500_000)}\n`, env: 'A=b\n' }
    expect(refusedFiles({ ...files, ...written })).toEqual([])
  })
})
