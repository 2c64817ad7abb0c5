// A survey of a repository made for a test, and what every survey must be.
import { execFileSync } from 'node:child_process'
import { expect } from 'vitest'
import type { SurveyLimits } from '../../../../../src/handoff/domain/sandbox-protocol.js'
import { decodeRecord } from '../../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import type { ChosenText, FileRow } from '../../../../../src/handoff/domain/survey.js'
import { type SurveyResult, survey } from '../../../../../src/handoff/sandbox/program/survey/index.js'
import { type Files, makeRepository, type TestRepository } from '../../../../support/repository.js'

export function surveyIn(repository: TestRepository, limits: Partial<SurveyLimits> = {}): Promise<SurveyResult> {
  return survey({
    gitDirectory: repository.directory,
    commit: repository.head,
    limits: { textBytes: 1_000_000, include: [], exclude: [], ...limits },
  })
}

/** Makes the repository, surveys it, checks what is always true, and throws the repository away. */
export async function surveyOf(files: Files, asked: Partial<SurveyLimits> = {}): Promise<SurveyResult> {
  await using repository = await makeRepository(files)
  const result = await surveyIn(repository, asked)
  await expectSound(result, repository, asked)
  return result
}

export function rowOf(result: SurveyResult, path: string): FileRow | undefined {
  return result.table.files.find((row) => row.path === path)
}

/** `kind`, or `kind: reason` of what was left out. */
export function verdictOf(result: SurveyResult, path: string): string {
  const row = rowOf(result, path)
  return row === undefined ? 'not there' : row.reason === undefined ? row.kind : `${row.kind}: ${row.reason}`
}

export function textOf(result: SurveyResult, path: string): ChosenText | undefined {
  return result.texts.find((text) => text.path === path)
}

export function bytesOf(texts: readonly ChosenText[]): number {
  return texts.reduce((sum, { text, path }) => sum + Buffer.byteLength(text) + Buffer.byteLength(path), 0)
}

/** Counts reconcile with git, the budget holds, and the host can read every record. */
export async function expectSound(
  result: SurveyResult,
  repository: TestRepository,
  asked: Partial<SurveyLimits> = {},
): Promise<void> {
  const { survey: seen, table, texts } = result
  const listed = execFileSync(
    'git',
    ['-C', repository.directory, 'ls-tree', '-r', '-l', '--full-tree', '-z', repository.head],
    { maxBuffer: 1e9 },
  )
    .toString('latin1')
    .split('\0')
    .filter((line) => line !== '')
  expect(table.files.map(({ mode, blob, size }) => `${mode} ${blob} ${size}`)).toEqual(listed.map(plainEntry))
  const { counts } = seen
  expect(counts.files).toBe(listed.length)
  expect(counts.bytes).toBe(table.files.reduce((sum, { size }) => sum + size, 0))
  expect(counts.read + counts.cut + counts.skipped).toBe(counts.files)
  expect(sum(counts.kinds)).toBe(counts.files)
  expect(sum(counts.reasons)).toBe(counts.cut + counts.skipped)
  expect(table.files.filter((row) => (row.reason === undefined) !== (row.state === 'read'))).toEqual([])

  expect(bytesOf(texts)).toBeLessThanOrEqual(asked.textBytes ?? 1_000_000)
  expect(texts.map(({ rank }) => rank)).toEqual(texts.map((_, index) => index))
  expect(texts.filter(({ form }) => form === 'full').length).toBe(counts.read)
  expect(texts.filter(({ form }) => form !== 'full').length).toBe(counts.cut)
  expect(table.trees['']).toBe(await repository.git('rev-parse', `${repository.head}^{tree}`))
  decodeRecord(JSON.stringify({ v: 1, type: 'survey', ...seen }))
  for (const text of texts) decodeRecord(JSON.stringify({ v: 1, type: 'text', ...text }))
}

function plainEntry(line: string): string {
  const [mode, , blob, size] = line.slice(0, line.indexOf('\t')).split(/ +/)
  return `${mode} ${blob} ${size === '-' ? 0 : Number(size)}`
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0)
}
