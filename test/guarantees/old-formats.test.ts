// What is stored today must be readable for ever. Files of every version decode in test/handoff/domain/handoff-record.test.ts; here is what would change
// the format unnoticed: a field that is new, gone, or suddenly needed.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decodeAnswer } from '../../src/handoff/domain/answer.js'
import { isHandoffError } from '../../src/handoff/domain/errors.js'
import { readFileTable } from '../../src/handoff/domain/file-table.js'
import { decodeHandoff, decodePointer, decodeRef } from '../../src/handoff/domain/handoff-record.js'
import { decodeNotes } from '../../src/handoff/domain/summary/notes.js'
import { decodeSummaryRecord } from '../../src/handoff/domain/summary/summary-record.js'
import { answerQuestion } from '../../src/handoff/workflows/answer/answer-question.js'
import { summarise } from '../../src/handoff/workflows/summarise/summarise-commit.js'
import { startScriptedStack } from '../support/scripted-stack.js'

const never = new AbortController().signal
const folder = join(import.meta.dirname, '../fixtures/format')

/** Maps whose keys are data. */
const maps = /^(reasons|kinds|durations|seconds|trees|files)$/

function fieldsOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item, `${at}[]`))
  if (typeof value !== 'object' || value === null) return [at]
  const isMap = maps.test(at.split('.').at(-1) ?? '')
  return Object.entries(value).flatMap(([key, child]) =>
    fieldsOf(child, `${at}${at === '' ? '' : '.'}${isMap ? '*' : key}`),
  )
}

const decoders: [RegExp, (bytes: Uint8Array) => unknown][] = [
  [/^answer-/, decodeAnswer],
  [/^handoff/, decodeHandoff],
  [/^pointer/, decodePointer],
  [/^ref/, decodeRef],
]

test('the required fields of version 1 are still the only required ones', () => {
  const needed: Record<string, string[]> = {}
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
    const decode = decoders.find(([pattern]) => pattern.test(name))?.[1]
    if (!decode) continue
    const good = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>
    needed[name] = Object.keys(good).filter((key) => {
      const { [key]: _gone, ...rest } = good
      return !decodes(decode, rest)
    })
  }
  expect(needed).toMatchSnapshot()
})

function decodes(decode: (bytes: Uint8Array) => unknown, value: object): boolean {
  try {
    decode(new TextEncoder().encode(JSON.stringify(value)))
    return true
  } catch (error) {
    if (isHandoffError(error)) return false
    throw error
  }
}

test('a summary and an answer store the fields of version 1: a new field is a decision', async () => {
  await using stack = await startScriptedStack()
  await using process = await stack.process({ patient: true })
  const place = stack.scenario('octo/format')
  await summarise(
    place.summarise(process, 'first', { requestedBy: { workflowRun: '1', actor: 'octocat' } }),
    process.context,
    never,
  )
  await answerQuestion(place.ask(process, 'How are people greeted?'), process.context, never)
  const stored = stack.clouds.drive
    .tree(place.layout.repository)
    .filter(({ path, isDirectory }) => !isDirectory && path.endsWith('.json'))
    .map(({ path }) => path)
  const fields = stored.map((path) => {
    const name = path
      .slice(place.layout.repository.length + 1)
      .replace(/[0-9a-f]{40}/g, '{sha}')
      .replace(/[0-9a-f]{32}/g, '{id}')
    const value: unknown = JSON.parse(stack.clouds.drive.readFile(path)!.toString())
    return [name, [...new Set(fieldsOf(value))].sort()]
  })
  expect(Object.fromEntries(fields)).toMatchSnapshot()
})

test.each<[string, (bytes: Uint8Array) => unknown]>([
  ['a handoff', decodeHandoff],
  ['a commit pointer', decodePointer],
  ['a ref', decodeRef],
  ['an answer', decodeAnswer],
  ['the statements of a summary', decodeSummaryRecord],
  ['notes', decodeNotes],
])('%s of a version that is not known yet is refused with a sentence, whatever else it holds', (_what, decode) => {
  for (const rest of [{}, { run: 7 }, { anything: ['new'] }]) {
    const bytes = new TextEncoder().encode(JSON.stringify({ version: 2, ...rest }))
    expect(() => decode(bytes)).toThrow(
      expect.objectContaining({
        code: 'unknown-version',
        message: expect.stringMatching(/version 2; this handoff reads version 1\.$/),
      }),
    )
  }
})

test('a file table of another version is refused', () => {
  expect(() => readFileTable(new TextEncoder().encode('{"version":2}'))).toThrow(/cannot be read/)
})
