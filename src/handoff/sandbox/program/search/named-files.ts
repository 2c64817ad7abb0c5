// Files that a question names by path or by name, with or without lines, as people, stack traces, logs and links write them. A named file ranks
// above files that only match words.
import { extensionOf, languageForExtension } from '../survey/languages.js'
import { emptyScore, type FileScore, type SearchStats } from './rank-files.js'
import type { RankedFile } from './rank-regions.js'
import { weights } from './ranking-weights.js'
import type { SourceFile } from './source-files.js'

export interface NamedFile {
  file: SourceFile
  /** From 0 to 1: how certainly this file is meant. */
  share: number
  ranges: { from: number; to: number }[]
}

interface QuestionWithNames {
  named: NamedFile[]
  /** The question, with each path replaced by the bare file name. */
  text: string
}

/**
 * A path, or a name with an extension; then perhaps lines, in the styles of compilers, links, Python, .NET and prose. Each run of these characters
 * is tried once, at its beginning.
 */
const mentionPattern =
  /(?<![\p{Script=Latin}\p{N}_.@+~%/\\-])((?:[\p{Script=Latin}\p{M}\p{N}_.@+~%-]*[/\\])*[\p{Script=Latin}\p{M}\p{N}_.@+~%-]*[\p{Script=Latin}\p{N}_])(?:(?::|#L|\(|["'`)]{0,2}[,:]?\s?(?:at\s|on\s)?\(?lines?\s)(\d{1,7})(?:[:,]\d{1,5})?(?:(?:-L?|–|\sto\s)(\d{1,7}))?)?/gu

/** Limits of one question; a stack trace may be long. */
const limits = { mentions: 100, files: 20, homonyms: 3 }

export function extractNamedFiles(question: string, files: readonly SourceFile[]): QuestionWithNames {
  const named = new Map<string, NamedFile>()
  let byName: Map<string, SourceFile[]> | undefined
  let mentions = 0
  const text = question.replace(mentionPattern, (whole: string, token: string, first?: string, last?: string) => {
    if (!/[./\\]/.test(token) || ++mentions > limits.mentions || named.size >= limits.files) return whole
    byName ??= Map.groupBy(files, ({ name }) => name)
    const meant = resolveMention(token, byName)
    for (const { file, share } of meant) addNamed(named, file, share, first, last)
    if (meant.length === 0) return wordsOfPath(token) ?? whole
    return ` ${meant[0]!.file.name.replace(/(?<=.)\.\w+$/, '')} `
  })
  return { named: [...named.values()], text }
}

/** A path of a file outside the repository: its folders and its bare name are words; extension and line number are not. */
function wordsOfPath(token: string): string | undefined {
  if (!/[/\\]/.test(token) || !languageForExtension(extensionOf(token))) return undefined
  return ` ${token.replace(/\.\w+$/, '').replace(/[/\\]+/g, ' ')} `
}

function addNamed(named: Map<string, NamedFile>, file: SourceFile, share: number, first?: string, last?: string): void {
  const known = named.get(file.path) ?? { file, share: 0, ranges: [] }
  named.set(file.path, known)
  known.share = Math.max(known.share, share)
  const from = Number(first ?? 0)
  if (from > 0) known.ranges.push({ from, to: Math.max(from, Number(last ?? 0)) })
}

/** The files whose paths share the longest suffix with the token. A path that shares only its end hardly means a file of this repository. */
function resolveMention(
  token: string,
  byName: ReadonlyMap<string, readonly SourceFile[]>,
): { file: SourceFile; share: number }[] {
  const parts = token.split(/[/\\]+/).filter((part) => part !== '' && part !== '.')
  const name = parts.at(-1) ?? ''
  const same = byName.get(name) ?? []
  const depths = same.map(({ path }) => commonSuffixLength(path.split('/'), parts))
  const depth = Math.max(0, ...depths)
  const meant = same.filter((_, index) => depths[index] === depth)
  // A bare dot-file is mostly a concept: how `.ignore` files are read is not in the repository's own.
  const isConcept = name.startsWith('.') && !/[/\\]/.test(token)
  const sure = (depth === parts.length || depth > 1) && !isConcept
  if (meant.length === 0 || meant.length > limits.homonyms || !(sure || name.includes('.'))) return []
  return meant.map((file) => ({
    file,
    share: (sure ? 1 : isConcept ? weights.namedConcept : weights.namedElsewhere) / meant.length,
  }))
}

function commonSuffixLength(path: readonly string[], parts: readonly string[]): number {
  let count = 0
  while (count < parts.length && path.at(-1 - count) === parts.at(-1 - count)) count++
  return count
}

/** Named files are candidates even if they contain none of the question's words. */
export function addNamedCandidates(
  candidates: readonly FileScore[],
  { scores }: SearchStats,
  named: readonly NamedFile[],
): FileScore[] {
  const known = new Set(candidates.map(({ file }) => file.index))
  const missing = named.filter(({ file }) => !known.has(file.index))
  return [
    ...candidates,
    ...missing.map(({ file }) => scores.find((one) => one.file.index === file.index) ?? emptyScore(file)),
  ]
}

/** The files that describe the repository: the answer to a question that has no words of its own. */
export function overviewFiles(files: readonly SourceFile[], most: number): NamedFile[] {
  return files
    .filter(({ directory, name }) => directory === '' && overviewName.test(name))
    .map((file) => ({ file, share: readmeName.test(file.name) ? most : most / 2, ranges: [{ from: 1, to: 80 }] }))
}

const readmeName = /^readme(?:\.\w+)?$/i
const overviewName =
  /^(?:readme(?:\.\w+)?|package\.json|pyproject\.toml|setup\.py|cargo\.toml|go\.mod|pom\.xml|composer\.json|gemfile|.+\.gemspec)$/i

/** In a file that is named with lines, those lines rise; otherwise the whole file does. */
export function boostNamedRegions(ranked: readonly RankedFile[], named: readonly NamedFile[]): void {
  const best = Math.max(1, ...ranked.map(({ regions }) => regions[0]?.score ?? 0))
  for (const { file, share, ranges } of named) {
    for (const region of ranked.find((one) => one.file === file)?.regions ?? []) {
      if (ranges.length === 0) region.score = Math.max(region.score, best * share * weights.namedRegion)
      else if (ranges.some(({ from, to }) => region.from <= to && from <= region.to)) region.score += best * share
    }
  }
}
