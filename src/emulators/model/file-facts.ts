// Facts that can be read off a file without understanding it: names, first sentences, commands, entry points, definitions, warnings.
// Every fact stands on one line of one file.
import { codeLines, commentIn, definedIn, importIn, isDirective, isLicence, isProse } from './definitions.js'
import { code, firstSentence, quoted, shorten } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'

export interface Fact {
  /** One sentence, with its full stop. */
  text: string
  file: FileBlock
  line: Line
}

const nameOf = (file: FileBlock) => file.path.split('/').at(-1) ?? file.path
const depthOf = (file: FileBlock) => file.path.split('/').length

/** What the thing is called and what its authors say it is. The files nearest to the top speak first. */
export function identityFacts(files: FileBlock[]): Fact[] {
  const near = files.filter((file) => depthOf(file) <= 2).sort((a, b) => depthOf(a) - depthOf(b))
  return [...near.flatMap(readmeFacts).slice(0, 4), ...near.flatMap(manifestFacts).slice(0, 4)]
}

function readmeFacts(file: FileBlock): Fact[] {
  if (!/^readme/i.test(nameOf(file))) return []
  const facts: Fact[] = []
  let inCode = false
  let inHtml = false
  for (const line of file.lines) {
    if (line.text.startsWith('```')) inCode = !inCode
    inHtml = line.text.trim() !== '' && (inHtml || /^\s*<\w/.test(line.text))
    if (inCode || inHtml) continue
    const words = line.text.replace(/^[#>*=\s-]+/, '').trim()
    if (words === '' || /^[<[!|`{]/.test(words) || isNotice(words)) continue
    const heading = line.text.startsWith('#')
    if (heading && facts.length > 0) break
    facts.push({
      text: heading ? `Its README is headed ${quoted(words)}.` : `The README says: ${quoted(firstSentence(words))}.`,
      file,
      line,
    })
    if (facts.length === 3) break
  }
  return facts
}

/** Rows of links and badges, and what is sold or asked for beside the project. */
function isNotice(words: string): boolean {
  const rest = words.replace(/!?\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, '')
  const linksOnly = rest !== words && (rest.match(/\p{L}{2,}/gu) ?? []).length < 3
  return (
    linksOnly ||
    /\b(t-?shirts?|stickers?|sponsors?|sponsoring|donat\w+|buy me a|patreon|discord|follow us)\b/i.test(words)
  )
}

const manifests = /^(package\.json|composer\.json|pyproject\.toml|Cargo\.toml|setup\.cfg|go\.mod|pom\.xml|.*\.gemspec)$/

function manifestFacts(file: FileBlock): Fact[] {
  if (!manifests.test(nameOf(file))) return []
  const facts: Fact[] = []
  for (const line of file.lines) {
    const [, key = '', value = ''] =
      /^\s{0,4}"?(name|description|license|version|type)"?\s*[:=]\s*["']([^"']+)["']/.exec(line.text) ??
      /^(module|go)\s+(\S+)/.exec(line.text) ??
      []
    if (value !== '' && !facts.some((fact) => fact.text.includes(` its ${key} `)))
      facts.push({ text: `${code(nameOf(file))} gives as its ${key} ${quoted(value)}.`, file, line })
  }
  return facts
}

/** Lines that a person types to build, test or run it. */
export function commandFacts(files: FileBlock[]): Fact[] {
  const facts = files.flatMap(commandsOf)
  return facts.filter((fact, index) => facts.findIndex((other) => other.text === fact.text) === index)
}

function commandsOf(file: FileBlock): Fact[] {
  if (nameOf(file) === 'package.json') return scriptFacts(file)
  if (/^(GNU)?[Mm]akefile$|\.mk$|^[Jj]ustfile$/.test(nameOf(file))) return targetFacts(file)
  if (/\.ya?ml$/.test(file.path))
    return pick(file, /^\s*-?\s*run:\s*(?![|>]\s*$)(\S.*)$/, (found) => `The workflow runs ${found}.`)
  if (nameOf(file).startsWith('Dockerfile'))
    return pick(file, /^(?:CMD|ENTRYPOINT)\s+(.+)$/, (found) => `The container starts ${found}.`)
  if (isProse(file)) return pick(file, command, (found) => `The documentation gives the command ${found}.`)
  return []
}

const command =
  /^\s*(?:\$\s+)?((?:npm|npx|pnpm|yarn|bun|deno|node|pip|poetry|uv|python3?|pytest|cargo|go|make|docker|gradle|\.\/gradlew|mvn|bundle|composer|dotnet) [\w./@:-].*)$/

function scriptFacts(file: FileBlock): Fact[] {
  const start = file.lines.findIndex((line) => /^\s*"scripts"\s*:/.test(line.text))
  if (start < 0) return []
  const facts: Fact[] = []
  for (const line of file.lines.slice(start + 1)) {
    if (/^\s*}/.test(line.text)) break
    const [, name, does] = /^\s*"([^"]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(line.text) ?? []
    if (name && does) facts.push({ text: `${code(`npm run ${name}`)} does ${code(shorten(does))}.`, file, line })
  }
  return facts
}

const targetFacts = (file: FileBlock) =>
  pick(file, /^([A-Za-z][\w-]*)\s*:(?!=)/, (found) => `${code(nameOf(file))} has the target ${found}.`)

function pick(file: FileBlock, pattern: RegExp, say: (found: string) => string): Fact[] {
  return file.lines.flatMap((line) => {
    const found = pattern.exec(line.text.slice(0, 400))?.[1]?.trim()
    return found ? [{ text: say(code(shorten(found))), file, line }] : []
  })
}

/** Where the program begins. */
export function entryFacts(files: FileBlock[]): Fact[] {
  const starts = /\bfunc main\(|\bfn main\(|__name__\s*==\s*['"]__main__|\bpublic static void main\b|^\s*int main\(/
  const named = /^(main|index|app|cli|server|__main__|mod|lib)\.\w+$/
  return files
    .filter((file) => file.kind !== 'test' && !isProse(file))
    .sort((a, b) => depthOf(a) - depthOf(b))
    .flatMap((file): Fact[] => {
      if (nameOf(file) === 'package.json')
        return pick(file, /^\s*"(?:main|bin|module)"\s*:\s*"([^"]+)"/, (found) => `The package's entry is ${found}.`)
      const line = file.lines.find((one) => starts.test(one.text.slice(0, 400)))
      if (line) return [{ text: `Execution starts in ${code(file.path)}.`, file, line }]
      const first = file.lines[0]
      return named.test(nameOf(file)) && first
        ? [{ text: `${code(file.path)} is an entry by its name.`, file, line: first }]
        : []
    })
}

/** What a file says it is for, what it defines, and what it leans on. */
export function fileFacts(file: FileBlock): Fact[] {
  if (isProse(file)) return []
  const facts: Fact[] = []
  const opening = openingComment(file)
  if (opening) facts.push({ text: `${code(file.path)} opens with ${quoted(opening.text)}.`, file, line: opening.line })
  const defined = codeLines(file.lines).flatMap((line) => {
    const found = definedIn(line.text)
    return found && !/^[a-z]?$/.test(found.name) ? [{ name: found.name, line }] : []
  })
  const names = [...new Set(defined.map((one) => one.name))].slice(0, 6)
  if (defined[0])
    facts.push({ text: `${code(file.path)} defines ${names.map(code).join(', ')}.`, file, line: defined[0].line })
  return [...facts, ...importFacts(file)]
}

/** Lines of code that an opening comment may stand below. */
const mostCodeAbove = 12

/** The first sentence of the first comment that is about the file: not its licence, and not an order to a program. */
function openingComment(file: FileBlock): { text: string; line: Line } | undefined {
  let comments: { text: string; line: Line }[] = []
  let above = 0
  for (const line of [...file.lines, { number: 0, text: '' }]) {
    const text = line.text.startsWith('#!') ? undefined : commentIn(line.text)
    if (text !== undefined) {
      if (text !== '' && !isDirective(text)) comments.push({ text, line })
      continue
    }
    const [start] = comments
    if (start && !comments.some((comment) => isLicence(comment.text))) {
      return { text: firstSentence(comments.map((comment) => comment.text).join(' ')), line: start.line }
    }
    comments = []
    above += 1
    if (above > mostCodeAbove) break
  }
  return undefined
}

function importFacts(file: FileBlock): Fact[] {
  const inner = file.lines.flatMap((line) => {
    const found = importIn(line.text)
    return found !== undefined && /^\.[^'"]/.test(found) ? [{ found, line }] : []
  })
  const [first] = inner
  if (!first) return []
  const names = [...new Set(inner.map((one) => one.found))].slice(0, 5)
  return [{ text: `${code(file.path)} leans on ${names.map(code).join(', ')}.`, file, line: first.line }]
}

/** What its own authors marked as unfinished or dangerous. */
export function riskFacts(files: FileBlock[]): Fact[] {
  return files.flatMap((file) =>
    isProse(file)
      ? []
      : pick(
          file,
          /\b((?:TO(?:DO)|FIX(?:ME)|HACK|XXX|DEPRECATED|@deprecated|SECURITY|WARNING)\b.*)$/,
          (found) => `Marked in ${code(file.path)}: ${found}.`,
        ),
  )
}
