// Verifies every path and line in a model's text against the commit. Corrects near misses and removes sentences with wrong paths.

import { tidy } from './clean-model-text.js'
import type { PathIndex } from './path-index.js'
import { findMentions, type Mention, mapMentions, mentionText } from './path-mentions.js'

export interface Verification {
  /** Mentions of paths that were checked. */
  checked: number
  /** Of these, mentions with a corrected line or path. */
  repaired: number
  /** Of these, mentions of paths that do not exist. */
  removed: number
}

export interface VerifiedText extends Verification {
  markdown: string
}

export function verifyPaths(markdown: string, pathIndex: PathIndex): VerifiedText {
  const counts: Verification = { checked: 0, repaired: 0, removed: 0 }
  const kept = blocksOf(markdown).map((block) => verifyBlock(block, pathIndex, counts))
  const text = kept.filter((block) => block !== undefined).join('\n')
  return { markdown: tidy(text), ...counts }
}

type Verdict = { kind: 'no claim' } | { kind: 'right' } | { kind: 'repair'; text: string } | { kind: 'wrong' }

const noClaim: Verdict = { kind: 'no claim' }
const wrong: Verdict = { kind: 'wrong' }

/** Whether one mention is right, correctable or wrong. */
export function checkMention(mention: Mention, pathIndex: PathIndex): Verdict {
  const { path } = mention
  if (pathIndex.exists(path)) return checkLine(mention, path, pathIndex, false)
  if (pathIndex.gone(path)) return wrong
  const fixed = /^[^*?]*(?=\/[^/]*\*)/.exec(path)?.[0]
  if (fixed !== undefined) return pathIndex.gone(fixed) ? wrong : noClaim
  if (path.startsWith('../')) return noClaim
  if (path.startsWith('/')) {
    const inside = path.replace(/^\/+/, '')
    return pathIndex.exists(inside)
      ? checkLine(mention, inside, pathIndex, true)
      : pathIndex.gone(inside)
        ? wrong
        : noClaim
  }
  if (!looksLikePath(mention, pathIndex)) return noClaim
  const meant = meantPath(path, pathIndex)
  if (meant !== undefined) return checkLine(mention, meant, pathIndex, true)
  const several = !path.includes('/') && pathIndex.withName(path).length > 1
  return several && mention.line === undefined ? noClaim : wrong
}

function checkLine(mention: Mention, path: string, pathIndex: PathIndex, moved: boolean): Verdict {
  const { line, to } = mention
  const repair = (from?: number, until?: number): Verdict => ({ kind: 'repair', text: mentionText(path, from, until) })
  // An unusual path is never inserted into the text.
  if (moved && /[\p{Cc}`<\u2028\u2029]/u.test(path)) return wrong
  if (line === undefined) return moved ? repair() : { kind: 'right' }
  if (pathIndex.isDirectory(path)) return repair()
  const last = pathIndex.linesOf(path)
  if (line < 1 || (last !== undefined && line > last)) return repair(pathIndex.firstLine(path) ?? 1)
  const end = to !== undefined && (to < line || (last !== undefined && to > last)) ? undefined : to
  if (end !== to) return repair(line, to! < line ? undefined : last)
  return moved ? repair(line, to) : { kind: 'right' }
}

/** The only file that ends with the written path or has its name. */
function meantPath(path: string, pathIndex: PathIndex): string | undefined {
  const candidates = pathIndex.withName(path.slice(path.lastIndexOf('/') + 1))
  const ending = candidates.filter((candidate) => candidate.endsWith(`/${path}`))
  if (ending.length > 0) return ending.length === 1 ? ending[0] : undefined
  return candidates.length === 1 ? candidates[0] : undefined
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

// ── blocks and sentences ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Block {
  /** A list marker, a quote marker or indentation; kept only if text follows. */
  lead: string
  text: string
  kind: 'text' | 'line' | 'as is'
}

/** Paragraphs and list items, which may run over several lines; rows of tables, headings and lines of code, which do not. */
function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let fenced = false
  let open: Block | undefined
  for (const line of markdown.split('\n')) {
    const fence = /^\s*(```|~~~)/.test(line)
    if (fence) fenced = !fenced
    const lead = /^\s*(?:>\s?)*(?:(?:[-*+]|\d{1,9}[.)])\s+)?/.exec(line)?.[0] ?? ''
    if (fence || line.trim() === '') blocks.push({ lead: '', text: line, kind: 'as is' })
    else if (fenced || /^\s*(\||#{1,6}\s)/.test(line)) blocks.push({ lead: '', text: line, kind: 'line' })
    else if (open && !/[-*+\d>]/.test(lead)) open.text += `\n${line}`
    else blocks.push({ lead, text: line.slice(lead.length), kind: 'text' })
    const last = blocks.at(-1)!
    open = last.kind === 'text' ? last : undefined
  }
  return blocks
}

function verifyBlock(block: Block, pathIndex: PathIndex, counts: Verification): string | undefined {
  if (block.kind === 'as is') return block.text
  const sentences = block.kind === 'line' ? [block.text] : sentencesOf(block.text)
  const kept = sentences.flatMap((sentence) => verifySentence(sentence, pathIndex, counts) ?? [])
  const text = kept.join('').trimEnd()
  return text.trim() === '' ? undefined : block.lead + text
}

/** Undefined if it names a path that does not exist. */
function verifySentence(sentence: string, pathIndex: PathIndex, counts: Verification): string | undefined {
  const verdicts = new Map<number, Verdict>()
  for (const mention of findMentions(sentence, pathIndex.odd))
    verdicts.set(mention.start, checkMention(mention, pathIndex))
  const claims = [...verdicts.values()].filter((verdict) => verdict.kind !== 'no claim')
  const wrongs = claims.filter((verdict) => verdict.kind === 'wrong').length
  counts.checked += claims.length
  counts.removed += wrongs
  if (wrongs > 0) return undefined
  counts.repaired += claims.filter((verdict) => verdict.kind === 'repair').length
  const change = (mention: Mention) => {
    const verdict = verdicts.get(mention.start)
    return verdict?.kind === 'repair' ? verdict.text : undefined
  }
  return mapMentions(sentence, change, pathIndex.odd)
}

const shortForms = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|No|Nr|p|pp|[A-Z])\.$/

/** The sentences of a paragraph, each with the space after it. A full stop in a code span or after an abbreviation ends none. */
export function sentencesOf(text: string): string[] {
  const masked = text.replace(/`[^`]*`/g, (span) => 'X'.repeat(span.length))
  const sentences: string[] = []
  let start = 0
  for (const match of masked.matchAll(
    /(?:[.!?][)"'\]*_”’]*(?:\s+)(?=[^\s\p{Ll}]|\p{Ll}[^\s]*[/.][^\s]))|[。！？]\s*/gu,
  )) {
    if (shortForms.test(masked.slice(start, match.index + 1))) continue
    const end = match.index + match[0].length
    sentences.push(text.slice(start, end))
    start = end
  }
  if (start < text.length) sentences.push(text.slice(start))
  return sentences
}
