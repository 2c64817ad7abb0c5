// Finds what looks like a path in a model's words: bare (`src/a.ts:10`) or in a code span. It only reads; what a mention is worth is decided
// by whoever knows the commit.

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

/** `odd` are paths that no tokenizer would find (with spaces, quotes, commas), longest first; they are looked for letter by letter. */
export function mentionsIn(text: string, odd: readonly string[] = []): Mention[] {
  const mentions = oddMentions(text, odd)
  const taken = (start: number, end: number) => mentions.some((other) => start < other.end && end > other.start)
  const spans: { start: number; end: number }[] = []
  for (const match of text.matchAll(/(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g)) {
    spans.push({ start: match.index, end: match.index + match[0].length })
    mentions.push(...spanMentions(match[2]!, match.index + match[1]!.length, taken))
  }
  let from = 0
  for (const span of [...spans, { start: text.length, end: text.length }]) {
    mentions.push(...bareMentions(text, from, span.start, 'bare', taken))
    from = span.end
  }
  return mentions.sort((a, b) => a.start - b.start)
}

/** Replaces every mention for which `change` has something else to say. */
export function mapMentions(
  text: string,
  change: (mention: Mention) => string | undefined,
  odd: readonly string[] = [],
): string {
  let result = ''
  let from = 0
  for (const mention of mentionsIn(text, odd)) {
    const other = change(mention)
    if (other === undefined || mention.start < from) continue
    result += text.slice(from, mention.start) + other
    from = mention.end
  }
  return result + text.slice(from)
}

export function mentionText(path: string, line?: number, to?: number): string {
  if (line === undefined) return path
  return to === undefined || to === line ? `${path}:${line}` : `${path}:${line}-${to}`
}

/** Is this a path that only a search letter by letter finds? */
export function isOddPath(path: string): boolean {
  return !/^[^\s`"'“”‘’<>|*,;—…()[\]{}:!?]+$/.test(path) || /^[.#~/]*\/|\.$/.test(path)
}

const lineSuffix = /(?::L?(\d{1,9})(?:[-–](?:L?)(\d{1,9}))?(?::\d+)?|#L(\d{1,9})(?:-L?(\d{1,9}))?)$/

function oddMentions(text: string, odd: readonly string[]): Mention[] {
  const mentions: Mention[] = []
  for (const path of odd) {
    for (let start = text.indexOf(path); start >= 0; start = text.indexOf(path, start + path.length)) {
      const rest = /^:L?(\d{1,9})(?:[-–]L?(\d{1,9}))?/.exec(text.slice(start + path.length, start + path.length + 24))
      const end = start + path.length + (rest?.[0].length ?? 0)
      const before = text[start - 1]
      if (before !== undefined && /[\p{L}\p{N}_./-]/u.test(before)) continue
      if (mentions.some((other) => start < other.end && end > other.start)) continue
      mentions.push(mention(start, end, path, rest?.[1], rest?.[2], 'code'))
    }
  }
  return mentions
}

function spanMentions(content: string, at: number, taken: (start: number, end: number) => boolean): Mention[] {
  const inner = content.trim()
  const start = at + content.indexOf(inner)
  if (/\s/.test(inner)) return bareMentions(content, 0, content.length, 'words', (a, b) => taken(a + at, b + at), at)
  if (inner === '' || taken(start, start + inner.length)) return []
  const found = tokenMention(inner, start, 'code')
  return found ? [found] : []
}

function bareMentions(
  text: string,
  from: number,
  to: number,
  style: Mention['style'],
  taken: (start: number, end: number) => boolean,
  shift = 0,
): Mention[] {
  const mentions: Mention[] = []
  const token = /[^\s`"'“”‘’<>|*,;—…]+/g
  token.lastIndex = from
  for (let match = token.exec(text); match && match.index < to; match = token.exec(text)) {
    const word = match[0].slice(0, to - match.index)
    const { start, end } = trimmed(word)
    const found = tokenMention(word.slice(start, end), match.index + start + shift, style)
    if (found && !taken(found.start - shift, found.end - shift)) mentions.push(found)
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
