// A search of a repository made for a test, and what every answer of a search must be.
import { expect } from 'vitest'
import { openStored, storeCommit } from '../../../../../src/benchmarks/stored-commit.js'
import type { Excerpt } from '../../../../../src/handoff/domain/answer.js'
import { estimateTokens } from '../../../../../src/handoff/domain/estimate-tokens.js'
import type { Search } from '../../../../../src/handoff/domain/sandbox-protocol.js'
import { decodeRecord } from '../../../../../src/handoff/domain/sandbox-protocol-decoder.js'
import type { DirectoryWords } from '../../../../../src/handoff/domain/summary/summary-record.js'
import type { Outline } from '../../../../../src/handoff/domain/survey.js'
import { find, findInCorpus, type SearchResult } from '../../../../../src/handoff/sandbox/program/search/index.js'
import type { Shape } from '../../../../../src/handoff/sandbox/program/search/question-shape.js'
import { type FileWeights, features } from '../../../../../src/handoff/sandbox/program/search/ranking-weights.js'
import { survey } from '../../../../../src/handoff/sandbox/program/survey/index.js'
import { type Files, makeRepository, type TestRepository } from '../../../../support/repository.js'

export interface Asked extends Partial<Search> {
  summary?: string
  outline?: Outline
  words?: DirectoryWords[]
  /** The only features that count, each with weight 1. */
  features?: readonly string[]
}

export function searchFor(question: string, more: Partial<Search> = {}): Search {
  return { question, terms: [], tokens: 12_000, shown: [], ...more }
}

/** Makes the repository, asks, checks what is always true, and throws the repository away. */
export async function foundIn(files: Files, question: string, asked: Asked = {}): Promise<SearchResult> {
  await using repository = await makeRepository(files)
  return await findIn(repository, question, asked)
}

export async function findIn(repository: TestRepository, question: string, asked: Asked = {}): Promise<SearchResult> {
  const { summary, outline, words = [], features: counted, ...search } = asked
  const options = {
    gitDirectory: repository.directory,
    commit: repository.head,
    search: searchFor(question, search),
    ...(summary === undefined ? {} : { summary }),
    outline: outline ?? (await outlineOf(repository)),
    words,
    ...(counted ? { weights: tableOf(counted) } : {}),
  }
  const found = await find(options)
  const { source } = await storedSourceOf(repository, options.outline)
  const { corpus, findDefinitions } = source
  const stored = await findInCorpus(corpus, { ...options, findDefinitions })
  expect(stored, 'by ranges of the stored files as from all files').toEqual(found)
  await expectSound(found.excerpts, repository, search.tokens ?? 12_000)
  decodeRecord(JSON.stringify({ v: 1, type: 'searched', ...found.searched }))
  return found
}

function tableOf(counted: readonly string[]): Record<Shape, FileWeights> {
  const row = Float64Array.from(features, (name) => Number(counted.includes(name)))
  return { question: row, report: row, trace: row, name: row, diff: row }
}

export const storedFilesOf = ({ directory, head }: TestRepository, outline: Outline) =>
  storeCommit(directory, head, outline)

export async function storedSourceOf(repository: TestRepository, outline: Outline) {
  return openStored(await storedFilesOf(repository, outline), repository.head)
}

export async function outlineOf({ directory: gitDirectory, head: commit }: TestRepository): Promise<Outline> {
  const { outline } = await survey({ gitDirectory, commit, limits: { textBytes: 1_000, include: [], exclude: [] } })
  return outline
}

/** Paths in the order in which they first appear. */
export function pathsOf({ excerpts }: { excerpts: Excerpt[] }): string[] {
  return [...new Set(excerpts.map(({ path }) => path))]
}

/** The lines that are shown of a file, by number. */
export function linesOf({ excerpts }: { excerpts: Excerpt[] }, path: string): Map<number, string> {
  return new Map(
    excerpts
      .filter((excerpt) => excerpt.path === path)
      .flatMap(({ from, lines }) => lines.map((line, index): [number, string] => [from + index, line])),
  )
}

/** What is sent of an excerpt: every line with its number, and a head and an end around them. */
export function asSent({ path, from, lines }: Excerpt): string {
  const text = lines.map((line, index) => `${from + index}| ${line}\n`).join('')
  return `=== file "${path}" lines ${from}-${from + lines.length - 1} (code)\n${text}=== end\n`
}

/** The host can read every record, the room is kept, no line is shown twice, and each is of the blob that it says it is of. */
export async function expectSound(excerpts: Excerpt[], repository: TestRepository, tokens: number): Promise<void> {
  expect(estimateTokens(excerpts.map(asSent).join(''))).toBeLessThanOrEqual(tokens)
  const shown = excerpts.flatMap(({ path, from, lines }) => lines.map((_, index) => `${path}:${from + index}`))
  expect(new Set(shown).size).toBe(shown.length)
  const blobs = new Map(
    (await repository.git('-c', 'core.quotePath=false', 'ls-tree', '-r', '-z', repository.head))
      .split('\0')
      .map((line): [string, string] => [line.slice(line.indexOf('\t') + 1), line.split(/[ \t]/)[2] ?? '']),
  )
  for (const excerpt of excerpts) {
    decodeRecord(JSON.stringify({ v: 1, type: 'excerpt', ...excerpt }))
    expect(excerpt.lines.length).toBeGreaterThan(0)
    expect(excerpt.from).toBeGreaterThan(0)
    expect(blobs.get(excerpt.path), excerpt.path).toBe(excerpt.blob)
  }
}
