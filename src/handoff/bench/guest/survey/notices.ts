// Sentences about what a reader would not expect: what could not be read, what was left out and why, what looks like a credential.
import type { SurveyCounts } from '../../../library/survey.js'
import { largestText } from './classify.js'
import { longestPath } from './report.js'
import type { Store } from './store.js'
import type { Entry, Tree } from './tree.js'

export interface Circumstances {
  tree: Tree
  counts: SurveyCounts
  store: Store
  secrets: number
  storeRefused: boolean
  /** How many patterns .handoffignore has that were not read. */
  patternsLeft: number
}

export function noticesOf(circumstances: Circumstances): string[] {
  const { tree, counts } = circumstances
  if (counts.files === 0) return ['The commit has no files.']
  return [
    emptiness(counts),
    ...unread(tree.entries, counts),
    ...strangePaths(tree),
    ...strangeEncodings(tree.entries, circumstances.store),
    circumstances.secrets === 0
      ? ''
      : `${number(circumstances.secrets, 'place looks', 'places look')} like credentials; the values are replaced wherever the text is shown.`,
    circumstances.patternsLeft === 0
      ? ''
      : `.handoffignore has more patterns than are read; the last ${circumstances.patternsLeft} were left out.`,
    circumstances.storeRefused ? 'What an earlier survey knew could not be used; everything was read again.' : '',
  ].filter((notice) => notice !== '')
}

function number(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Says why there is little to tell, when there is. */
function emptiness({ files, kinds, reasons, read, cut }: SurveyCounts): string {
  const binaries = (kinds.binary ?? 0) + (kinds['lfs-pointer'] ?? 0)
  const left = (reasons.excluded ?? 0) + (reasons.ignored ?? 0)
  if (left === files) return 'Every file is left out by the globs of the settings or by .handoffignore.'
  if (binaries === files) return 'There are only binary files here; nothing can be read as text.'
  if (read + cut === 0 && (reasons.budget ?? 0) === 0)
    return 'There is no text here that could be read: every file is empty, binary, data, generated or not part of the commit.'
  if ((kinds.source ?? 0) === 0) return 'There is no source code here, only documents, settings or data.'
  return ''
}

function unread(entries: readonly Entry[], { reasons }: SurveyCounts): string[] {
  const tooLarge = entries.filter(({ reason }) => reason === 'too large').sort((a, b) => b.size - a.size)
  const named = tooLarge.slice(0, 5).map(({ path, size }) => `${short(path)} (${Math.round(size / 1e5) / 10} MB)`)
  return [
    tooLarge.length === 0
      ? ''
      : `${number(tooLarge.length, 'file is', 'files are')} too large to be read (more than ${largestText / 1e6} MB, or less where the kind of text is not known): ${named.join(', ')}${tooLarge.length > 5 ? ', …' : ''}.`,
    reasons.submodule
      ? `${number(reasons.submodule, 'submodule is', 'submodules are')} other repositories and are not followed.`
      : '',
    reasons['lfs pointer'] ? `${number(reasons['lfs pointer'], 'file is', 'files are')} kept by LFS and not here.` : '',
    reasons.missing ? `${number(reasons.missing, 'file is', 'files are')} missing from the clone.` : '',
    reasons.ignored ? `${number(reasons.ignored, 'file is', 'files are')} left out by .handoffignore.` : '',
  ]
}

function strangePaths({ entries, hiddenNames }: Tree): string[] {
  const foreign = entries.filter(({ pathBase64 }) => pathBase64 !== undefined)
  const broken = entries.filter(({ path }) => /[\u0000-\u001f\u007f]/.test(path))
  const long = entries.filter(({ path }) => path.length > longestPath).length
  return [
    foreign.length === 0
      ? ''
      : `${number(foreign.length, 'path is', 'paths are')} not UTF-8, shown with replacement characters: ${examples(foreign)}.`,
    broken.length === 0
      ? ''
      : `${number(broken.length, 'path has', 'paths have')} line ends or other control characters in it: ${examples(broken)}.`,
    long === 0
      ? ''
      : `${number(long, 'path is', 'paths are')} longer than ${longestPath} characters, and in the table only.`,
    hiddenNames === 0
      ? ''
      : `${number(hiddenNames, 'name', 'names')} of files or folders looked like credentials and are shown without them.`,
  ]
}

function strangeEncodings(entries: readonly Entry[], store: Store): string[] {
  const encoded = (encoding: string) =>
    entries.filter(({ record }) => record >= 0 && store.records[record]!.encoding === encoding)
  const wide = encoded('utf-16')
  const unknown = encoded('unknown')
  return [
    wide.length === 0
      ? ''
      : `${number(wide.length, 'file is', 'files are')} UTF-16 and shown as UTF-8: ${examples(wide)}.`,
    unknown.length === 0
      ? ''
      : `${number(unknown.length, 'file is', 'files are')} text but not UTF-8; what could not be read is shown as �: ${examples(unknown)}.`,
  ]
}

function examples(entries: readonly Entry[]): string {
  return `${entries
    .slice(0, 3)
    .map(({ path }) => short(path))
    .join(', ')}${entries.length > 3 ? ', …' : ''}`
}

/** A path inside one of our sentences: on one line, and not long. */
function short(path: string): string {
  return JSON.stringify(path.length > 80 ? `…${path.slice(-79)}` : path).replace(/[\u0085\u2028\u2029]/g, '�')
}
