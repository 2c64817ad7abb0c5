// Checks the paths that a sentence names against the commit: corrects near misses, and finds the ones that do not exist.
import type { PathIndex } from './path-index.js'
import { findMentions, type Mention, mapMentions } from './path-mentions.js'

interface SettledPaths {
  /** The sentence with corrected paths; undefined if it names a path that does not exist. */
  text?: string
  /** The existing paths that it names. */
  names: string[]
  /** Mentions that were checked, and that were corrected. */
  checked: number
  repaired: number
}

/** Lines that are written with a path are removed: only citations have lines, because only they follow the code. */
export function settlePaths(
  sentence: string,
  pathIndex: PathIndex,
  /** True for a path that stands in a cited line: it is quoted, whether it exists or not. */
  isQuoted: (path: string) => boolean = () => false,
): SettledPaths {
  const found = findMentions(sentence, pathIndex.odd).map((mention) => ({
    mention,
    verdict: checkMention(mention, pathIndex, isQuoted),
  }))
  const claims = found.filter(({ verdict }) => verdict.kind !== 'no claim')
  const repairs = claims.filter(({ verdict }) => verdict.kind === 'right' && verdict.path !== undefined)
  const counts = { checked: claims.length, repaired: repairs.length }
  if (claims.some(({ verdict }) => verdict.kind === 'wrong')) return { names: [], ...counts }
  const verdicts = new Map(found.map(({ mention, verdict }) => [mention.start, verdict]))
  const text = mapMentions(
    sentence,
    (mention) => {
      const verdict = verdicts.get(mention.start)
      if (verdict?.kind !== 'right') return undefined
      return verdict.path ?? (mention.line === undefined ? undefined : mention.path)
    },
    pathIndex.odd,
  )
  const names = findMentions(text, pathIndex.odd)
    .map(({ path }) => beforePattern(path) ?? path)
    .filter((path) => pathIndex.exists(path))
  return { text, names: [...new Set(names)], ...counts }
}

/** `path`: what is meant, if it is written differently. */
type Verdict = { kind: 'no claim' } | { kind: 'right'; path?: string } | { kind: 'wrong' }

const noClaim: Verdict = { kind: 'no claim' }
const right: Verdict = { kind: 'right' }
const wrong: Verdict = { kind: 'wrong' }

/** The directory of a pattern such as `src/*.ts`. */
const beforePattern = (path: string) => /^[^*?]*(?=\/[^/]*\*)/.exec(path)?.[0]

/** Whether one mention is right, correctable or wrong. */
function checkMention(mention: Mention, pathIndex: PathIndex, isQuoted: (path: string) => boolean): Verdict {
  const { path } = mention
  if (pathIndex.exists(path)) return right
  if (pathIndex.gone(path)) return wrong
  const directory = beforePattern(path)
  if (directory !== undefined) return pathIndex.gone(directory) ? wrong : noClaim
  if (path.startsWith('../')) return noClaim
  if (path.startsWith('/')) {
    const inside = path.replace(/^\/+/, '')
    return pathIndex.exists(inside) ? corrected(inside) : noClaim
  }
  if (!looksLikePath(mention, pathIndex)) return noClaim
  const meant = meantPath(path, pathIndex)
  if (meant !== undefined) return corrected(meant)
  if (isQuoted(path)) return noClaim
  const several = !path.includes('/') && pathIndex.withName(path).length > 1
  return several && mention.line === undefined ? noClaim : wrong
}

/** An unusual path is never inserted into the text. */
const corrected = (path: string): Verdict => (/[\p{Cc}`<\u2028\u2029]/u.test(path) ? wrong : { kind: 'right', path })

/** The only file that ends with the written path, or has its name and one of its directories. */
function meantPath(path: string, pathIndex: PathIndex): string | undefined {
  const candidates = pathIndex.withName(path.slice(path.lastIndexOf('/') + 1))
  const ending = candidates.filter((candidate) => candidate.endsWith(`/${path}`))
  if (ending.length > 0) return ending.length === 1 ? ending[0] : undefined
  const [only, ...others] = candidates
  if (only === undefined || others.length > 0) return undefined
  const written = path.split('/').slice(0, -1)
  const directories = only.split('/').slice(0, -1)
  return written.length === 0 || written.some((name) => directories.includes(name)) ? only : undefined
}

/** Extensions that almost always mean a file. */
const sure =
  /\.(ts|tsx|mts|cts|jsx|mjs|cjs|py|pyi|go|rs|rb|java|kt|kts|swift|cpp|cxx|cc|hpp|cs|fs|php|scala|clj|ex|exs|erl|hs|ml|lua|jl|dart|zig|vue|svelte|astro|sh|bash|ps1|yml|yaml|toml|ini|cfg|md|mdx|rst|adoc|proto|graphql|gradle|cmake|tf|sln|csproj|ipynb)$/i
/** Extensions that are also words, methods or product names. */
const unsure = /\.(js|json|jsonc|html|htm|css|scss|less|xml|sql|txt|csv|h|c|m|r|d|pl|map|lock|env|conf|properties)$/i

function looksLikePath(mention: Mention, pathIndex: PathIndex): boolean {
  const { path, line, style } = mention
  if (/[:\\(){}<>$]|^[\d.]+$|^@|^-|\/\//.test(path)) return false
  const slash = path.includes('/')
  const ending = path.slice(path.lastIndexOf('.') + 1)
  const known = sure.test(path) || (unsure.test(path) && (ending.length > 1 || pathIndex.hasExtension(ending)))
  const inTree = slash && pathIndex.exists(path.slice(0, path.indexOf('/')))
  if (line !== undefined) return known || inTree
  if (style === 'words') return false
  // Only a directory is written with a slash at its end.
  if (path.endsWith('/')) return true
  if (slash) return known || (inTree && style === 'code')
  return sure.test(path) && (style === 'code' || path === path.toLowerCase())
}
