// What the repository says of its own files (.gitattributes in every folder, .handoffignore at the top) and what the settings say.
import type { SurveyLimits } from '../../../domain/sandbox-protocol.js'
import type { Selection } from './classify-file.js'
import { decodeText } from './decode-text.js'
import { type AttributesFile, parseAttributes } from './git-attributes.js'
import type { BlobReader } from './git-objects.js'
import type { Tree } from './git-tree.js'
import { createPathMatcher, type Pattern, parsePatterns } from './gitignore-patterns.js'

/** Larger files of rules are not read, because rules are kept in memory. */
const rulesByteLimit = 1_000_000

export interface RepositoryRules {
  attributes: AttributesFile[]
  ignore: Pattern[]
  /** Files of rules that are too large. */
  unread: string[]
}

export async function readRules(tree: Tree, reader: BlobReader): Promise<RepositoryRules> {
  const rules: RepositoryRules = { attributes: [], ignore: [], unread: [] }
  const all = tree.entries.filter(
    ({ name, path, mode, reason }) =>
      (name === '.gitattributes' || path === '.handoffignore') && mode.startsWith('100') && reason === undefined,
  )
  const files = all.filter(({ size }) => size <= rulesByteLimit)
  rules.unread = all.filter(({ size }) => size > rulesByteLimit).map(({ path }) => path)
  await reader.read(
    files.map(({ blob }) => blob),
    (index, bytes) => {
      const { path, folder } = files[index]!
      const text = (bytes && decodeText(bytes)?.toString('utf8')) ?? ''
      if (path === '.handoffignore') rules.ignore = parsePatterns(text.split('\n'))
      else rules.attributes.push({ directory: folder.path, text })
    },
  )
  return rules
}

export function createSelection({ attributes, ignore }: RepositoryRules, limits: SurveyLimits): Selection {
  const taker = (patterns: Pattern[], without: boolean) =>
    patterns.length > 0 ? createPathMatcher(patterns) : () => without
  const included = taker(parsePatterns(limits.include), limits.include.length === 0)
  const excluded = taker(parsePatterns(limits.exclude), false)
  return {
    attributes: parseAttributes(attributes),
    excluded: (path) => !included(path) || excluded(path),
    ignored: taker(ignore, false),
  }
}
