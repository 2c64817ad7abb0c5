// Finds paths in a model's text, bare (`src/a.ts:10`) or in a code span. correct-paths.ts checks whether they exist.
import { codeSpansOf } from '../markdown/code-ranges.js'

export interface Mention {
  start: number
  end: number
  /** As written, without a leading `./`. */
  path: string
  line?: number
  /** The last line, where a range was written. */
  to?: number
  /** `code`: a code span of its own. `words`: inside a code span with other words. `bare`: in running text. */
  style: 'code' | 'words' | 'bare'
}

/** `odd` are paths with spaces, quotes or commas, longest first. They are searched as plain text. */
export function findMentions(text: string, odd: readonly string[] = []): Mention[] {
  const taken = new Uint8Array(text.length)
  const mentions = unusualMentions(text, odd, taken)
  let from = 0
  for (const [start, end] of codeSpansOf(text)) {
    const ticks = /^`+/.exec(text.slice(start, end))![0].length
    mentions.push(...bareMentions(text.slice(from, start), from, 'bare', taken))
    mentions.push(...spanMentions(text.slice(start + ticks, end - ticks), start + ticks, taken))
    from = end
  }
  mentions.push(...bareMentions(text.slice(from), from, 'bare', taken))
  return mentions.sort((a, b) => a.start - b.start)
}

/** Replaces each mention for which `change` returns another text. */
export function mapMentions(
  text: string,
  change: (mention: Mention) => string | undefined,
  odd: readonly string[] = [],
): string {
  let result = ''
  let from = 0
  for (const mention of findMentions(text, odd)) {
    const other = change(mention)
    if (other === undefined || mention.start < from) continue
    result += text.slice(from, mention.start) + other
    from = mention.end
  }
  return result + text.slice(from)
}

/** True for a path that only a plain text search finds. */
export function isUnusualPath(path: string): boolean {
  return !/^[^\s`"'“”‘’<>|*,;—…()[\]{}:!?]+$/.test(path) || /^[.#~/]*\/|\.$/.test(path)
}

/** Longer words are no paths, and matching their brackets would be slow. */
const longestWord = 400

const lineSuffix = /(?::L?(\d{1,9})(?:[-–](?:L?)(\d{1,9}))?(?::\d{1,9})?|#L(\d{1,9})(?:-L?(\d{1,9}))?)$/

function unusualMentions(text: string, odd: readonly string[], taken: Uint8Array): Mention[] {
  const mentions: Mention[] = []
  for (const path of odd) {
    for (let start = text.indexOf(path); start >= 0; start = text.indexOf(path, start + path.length)) {
      const rest = /^:L?(\d{1,9})(?:[-–]L?(\d{1,9}))?/.exec(text.slice(start + path.length, start + path.length + 24))
      const end = start + path.length + (rest?.[0].length ?? 0)
      const before = text[start - 1]
      if ((before !== undefined && /[\p{L}\p{N}_./-]/u.test(before)) || taken[start] || taken[end - 1]) continue
      taken.fill(1, start, end)
      mentions.push(mention(start, end, path, rest?.[1], rest?.[2], 'code'))
    }
  }
  return mentions
}

/** `at` is the offset of the content in the whole text. */
function spanMentions(content: string, at: number, taken: Uint8Array): Mention[] {
  const inner = content.trim()
  const start = at + content.indexOf(inner)
  if (/\s/.test(inner)) return bareMentions(content, at, 'words', taken)
  if (inner === '' || inner.length > longestWord || taken[start] || taken[start + inner.length - 1]) return []
  const found = tokenMention(inner, start, 'code')
  return found ? [found] : []
}

function bareMentions(text: string, at: number, style: Mention['style'], taken: Uint8Array): Mention[] {
  const mentions: Mention[] = []
  for (const match of text.matchAll(/[^\s`"'“”‘’<>|*,;—…]+/g)) {
    const [word] = match
    if (word.length > longestWord) continue
    const { start, end } = trimmed(word)
    const found = tokenMention(word.slice(start, end), at + match.index + start, style)
    if (found && !taken[found.start] && !taken[found.end - 1]) mentions.push(found)
  }
  return mentions
}

/** Without the punctuation of the sentence around it; brackets stay where they are balanced, as in `app/[id]/page.tsx`. */
function trimmed(word: string): { start: number; end: number } {
  let start = 0
  let end = word.length
  for (let again = true; again && start < end; ) {
    again = false
    if (/[.,;:!?]/.test(word[end - 1]!)) again = end-- > 0
    else if (/[)\]}]/.test(word[end - 1]!) && unbalanced(word.slice(start, end))) again = end-- > 0
    else if (/[([{]/.test(word[start]!) && unbalanced(word.slice(start, end))) again = start++ >= 0
    else if (isWrapped(word.slice(start, end))) {
      start++
      end--
      again = true
    }
  }
  return { start, end }
}

/** Is the bracket at the start the one that closes at the end? */
function isWrapped(word: string): boolean {
  if (!/^[([{].*[)\]}]$/s.test(word)) return false
  let depth = 0
  for (let index = 0; index < word.length - 1; index++) {
    if (/[([{]/.test(word[index]!)) depth++
    else if (/[)\]}]/.test(word[index]!) && --depth === 0) return false
  }
  return true
}

function unbalanced(word: string): boolean {
  const count = (expression: RegExp) => word.match(expression)?.length ?? 0
  return count(/[([{]/g) !== count(/[)\]}]/g)
}

function tokenMention(word: string, start: number, style: Mention['style']): Mention | undefined {
  if (word.includes('://') || /^(www\.|mailto:)/.test(word)) return undefined
  const suffix = lineSuffix.exec(word)
  const path = suffix ? word.slice(0, suffix.index) : word
  if (path === '' || !/[\p{L}\p{N}_]/u.test(path)) return undefined
  const line = suffix?.[1] ?? suffix?.[3]
  const to = suffix?.[2] ?? suffix?.[4]
  return mention(start, start + word.length, path, line, to, style)
}

function mention(
  start: number,
  end: number,
  path: string,
  line: string | undefined,
  to: string | undefined,
  style: Mention['style'],
): Mention {
  return {
    start,
    end,
    path: path.replace(/^(\.\/)+/, ''),
    style,
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(to === undefined ? {} : { to: Number(to) }),
  }
}
