// Sentences about what a reader would not expect: what was not read, what was left out and why, what looks like a credential.
import type { SurveyCounts } from '../../../domain/survey.js'
import type { AnalysisTable } from './analysis-table.js'
import { largestText, largestUnknown as smallestTooLarge } from './classify-file.js'
import type { Entry, Tree } from './git-tree.js'
import { patternLimit } from './gitignore-patterns.js'
import { longestPath } from './report.js'
import type { RepositoryRules } from './repository-rules.js'

interface NoticeInput {
  tree: Tree
  counts: SurveyCounts
  analyses: AnalysisTable
  secrets: number
  /** How many tests of a very large repository were not analyzed. */
  skippedTests: number
  rules: RepositoryRules
}

export function createNotices(input: NoticeInput): string[] {
  const { tree, counts, analyses, secrets, skippedTests, rules } = input
  if (counts.files === 0) return ['The commit has no files.']
  return [
    describeEmptiness(counts),
    ...describeUnread(tree.entries, counts),
    ...describePaths(tree),
    ...describeEncodings(tree.entries, analyses),
    sentence(
      secrets,
      'place looks like a credential; the value is',
      'places look like credentials; the values are',
      ' replaced wherever the text is shown.',
    ),
    sentence(
      skippedTests,
      'test is',
      'tests are',
      ' listed and not looked into: the product alone is many times what there is room for.',
    ),
    sentence(
      Math.max(0, rules.ignore.length - patternLimit),
      'pattern of .handoffignore is',
      'patterns of .handoffignore are',
      ' too many and left out.',
    ),
    ...rules.unread.map((path) => `${shortPath(path)} is too large to be read, so that nothing follows its rules.`),
  ].filter((notice) => notice !== '')
}

/** Empty for a count of 0. */
function sentence(count: number, one: string, many: string, rest: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? one : many}${rest}`
}

/** Explains why a survey has little content. */
function describeEmptiness({ files, kinds, reasons, read, cut }: SurveyCounts): string {
  const binaries = (kinds.binary ?? 0) + (kinds['lfs-pointer'] ?? 0)
  const left = (reasons.excluded ?? 0) + (reasons.ignored ?? 0)
  if (left === files) return 'Every file is left out by the globs of the settings or by .handoffignore.'
  if (binaries === files) return 'There are only binary files here; nothing can be read as text.'
  if (read + cut === 0 && (reasons.budget ?? 0) === 0) {
    return 'There is no text here that could be read: every file is empty, binary, data, generated or not part of the commit.'
  }
  return (kinds.source ?? 0) === 0 ? 'There is no source code here, only documents, settings or data.' : ''
}

function describeUnread(entries: readonly Entry[], { reasons }: SurveyCounts): string[] {
  const tooLarge = entries
    .filter(({ reason, size }) => reason === 'too large' && size > smallestTooLarge)
    .sort((a, b) => b.size - a.size)
  const named = tooLarge.slice(0, 5).map(({ path, size }) => `${shortPath(path)} (${Math.round(size / 1e5) / 10} MB)`)
  const limits = `more than ${largestText / 1e6} MB, or ${smallestTooLarge / 1e6} MB where the kind of text is not known`
  return [
    sentence(
      tooLarge.length,
      'file is',
      'files are',
      ` too large to be read (${limits}): ${named.join(', ')}${tooLarge.length > 5 ? ', …' : ''}.`,
    ),
    sentence(
      reasons.submodule ?? 0,
      'submodule is another repository and is',
      'submodules are other repositories and are',
      ' not followed.',
    ),
    sentence(reasons['lfs pointer'] ?? 0, 'file is', 'files are', ' kept by LFS and not here.'),
    sentence(reasons.missing ?? 0, 'file is', 'files are', ' missing from the clone.'),
    sentence(reasons.ignored ?? 0, 'file is', 'files are', ' left out by .handoffignore.'),
  ]
}

function describePaths({ entries, redactedNames }: Tree): string[] {
  const foreign = entries.filter(({ pathBase64 }) => pathBase64 !== undefined)
  const broken = entries.filter(({ path }) => /[\u0000-\u001f\u007f]/.test(path))
  const long = entries.filter(({ path }) => path.length > longestPath).length
  return [
    sentence(
      foreign.length,
      'path is',
      'paths are',
      ` not UTF-8 and shown with replacement characters: ${examplePaths(foreign)}.`,
    ),
    sentence(
      broken.length,
      'path has',
      'paths have',
      ` line ends or other control characters: ${examplePaths(broken)}.`,
    ),
    sentence(long, 'path is', 'paths are', ` longer than ${longestPath} characters and in the table only.`),
    sentence(
      redactedNames,
      'name of a file or folder looks like a credential and is',
      'names of files or folders look like credentials and are',
      ' not repeated.',
    ),
  ]
}

function describeEncodings(entries: readonly Entry[], analyses: AnalysisTable): string[] {
  const encoded = (encoding: string) =>
    entries.filter(({ analysis: record }) => record >= 0 && analyses.records[record]!.encoding === encoding)
  const wide = encoded('utf-16')
  const unknown = encoded('unknown')
  return [
    sentence(wide.length, 'file is', 'files are', ` UTF-16 and shown as UTF-8: ${examplePaths(wide)}.`),
    sentence(
      unknown.length,
      'file is',
      'files are',
      ` text but not UTF-8; what could not be read is shown as �: ${examplePaths(unknown)}.`,
    ),
  ]
}

function examplePaths(entries: readonly Entry[]): string {
  const shown = entries.slice(0, 3).map(({ path }) => shortPath(path))
  return `${shown.join(', ')}${entries.length > 3 ? ', …' : ''}`
}

/** A path for a sentence: quoted, on one line, and short. */
function shortPath(path: string): string {
  return JSON.stringify(path.length > 80 ? `…${path.slice(-79)}` : path).replace(/[\u0085\u2028\u2029]/g, '�')
}
