// What a README says first: its heading, and the first sentence that tells what the project is.
import { isLicence } from './definitions.js'
import { depthOf, type Fact, folderOf, nameOf } from './fact.js'
import { code, firstSentence, plainText, quoted } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'

export function readmeFacts(file: FileBlock): Fact[] {
  // A later piece of it introduces nothing.
  if (!/^readme(\.(md|markdown|mdx|rst|txt|adoc|org))?$/i.test(nameOf(file)) || file.lines[0]?.number !== 1) return []
  const { title, heading, lines } = introductionOf(file)
  const readme = depthOf(file) === 1 ? 'The README' : code(file.path)
  if (lines.length === 0)
    return heading ? [{ text: `${readme} is headed ${quoted(title)}.`, file, lines: [heading] }] : []
  const words = tellingSentence(plainText(lines.map(({ text }) => text.trim()).join(' ')))
  const subject = title !== '' ? quoted(title) : depthOf(file) === 1 ? 'the project' : code(`${folderOf(file)}/`)
  const also = heading ? { also: [{ file, lines: [heading] }] } : {}
  return [{ text: `${readme} introduces ${subject}: ${quoted(words)}.`, file, lines, ...also }]
}

/** The first sentence with more than three words. */
function tellingSentence(text: string): string {
  const first = firstSentence(text)
  const rest = text.slice(first.length).trim()
  const isShort = first.split(' ').length < 4
  return isShort && rest !== '' ? tellingSentence(rest) : first
}

interface Introduction {
  /** Empty where the text has no heading above it. */
  title: string
  heading?: Line
  /** The first lines that are sentences: no heading, badge, picture, table, code, quotation or offer. */
  lines: Line[]
}

/** Headings under which a project is still introduced. */
const introducing = /^(overview|introduction|intro|about|description|summary|what|why)\b/i

function introductionOf(file: FileBlock): Introduction {
  const found: Introduction = { title: '', lines: [] }
  for (const { line, headed, isProse } of readmeLines(file)) {
    if (headed !== undefined && found.lines.length === 0) {
      if (found.heading && !introducing.test(headed)) return found
      if (!found.heading) Object.assign(found, { title: headed, heading: line })
    } else if (isProse) found.lines.push(line)
    else if (isParagraph(found.lines)) return found
    else found.lines = []
  }
  // The lines that were shown end here; the sentence may go on.
  const isCut = file.form !== 'full' && !/[.!?]\W*$/.test(found.lines.at(-1)?.text ?? '')
  if (isCut || !isParagraph(found.lines)) found.lines = []
  return found
}

interface ReadmeLine {
  line: Line
  /** The words of a heading. */
  headed?: string | undefined
  /** It can be part of a sentence: outside code and tags, no badge, picture, table or quotation. */
  isProse: boolean
}

function readmeLines(file: FileBlock): ReadmeLine[] {
  let fence = false
  let html = 0
  return file.lines.map((line, index) => {
    const text = line.text.trim()
    if (/^(```|~~~)/.test(text)) fence = !fence
    html = Math.max(0, html + openTags(text))
    const headed = fence ? undefined : headingAt(file, index)
    return { line, headed, isProse: !fence && html === 0 && headed === undefined && isSentenceLine(text) }
  })
}

/** The words of a heading in this line: behind number signs, in a tag, or underlined. */
function headingAt({ path, lines }: FileBlock, index: number): string | undefined {
  const { text } = lines[index]!
  const [, marked, tagged] = /^#{1,6}\s+(.*)$|^\s*<h1[^<>]*>(.*)<\/h1>\s*$/i.exec(text) ?? []
  // In Markdown three hyphens below words are a rule as often as a heading.
  const line = path.endsWith('.rst') ? /^(={3,}|-{3,}|~{3,})\s*$/ : /^(={3,}|-{4,})\s*$/
  const isUnderlined = /^\S.*\p{L}/u.test(text) && line.test(lines[index + 1]?.text ?? '')
  const words = plainText((marked ?? tagged ?? (isUnderlined ? text : '')).replace(/\s#+$/, ''))
  return /[\p{L}\p{N}]/u.test(words) ? words : undefined
}

/** Tags that a line opens and does not close. */
function openTags(text: string): number {
  const opened = text.match(/<(?!(?:img|br|hr|source|input|meta|link)\b)[a-z][\w-]*/gi)?.length ?? 0
  return opened - (text.match(/<\/[a-z][\w-]*/gi)?.length ?? 0) - (text.match(/\/>/g)?.length ?? 0)
}

const isSentenceLine = (text: string) =>
  text !== '' &&
  !/^(#|>|\||<|!\[|\[[^\]]*\]:|[-*+] |\d+\. |```|~~~|\.\. |:\w+:|[=~^*_-]{3,}$|@)/.test(text) &&
  !isNotice(text) &&
  !isLicence(text)

/** A paragraph that tells what something is, and no note to those who work on it. */
function isParagraph(lines: Line[]): boolean {
  const words = plainText(lines.map(({ text }) => text).join(' '))
  return (words.replace(/\bhttps?:\S+/g, '').match(/\p{L}{2,}/gu) ?? []).length >= 3 && !aside.test(words)
}

const aside =
  /^(note|warning|important|caution|tip|please|remember|if you|see (also|the)|for (full|more)|read (more|the)|click (here|on)|check out|see https?|looking for)\b|pull requests/i

/** Rows of links and badges, and what is sold or asked for beside the project. */
function isNotice(words: string): boolean {
  const rest = words.replace(/!?\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, '')
  const linksOnly = rest !== words && (rest.match(/\p{L}{2,}/gu) ?? []).length < 3
  const offer = /\b(t-?shirts?|stickers?|sponsors?|sponsoring|donat\w+|buy me a|patreon|discord|follow us)\b/i
  return linksOnly || offer.test(words)
}
