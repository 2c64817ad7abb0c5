// What a project says of itself: the README's first paragraph, the manifests of packages, and the commands that its authors type.
import { commentAt, saidBy } from './comments.js'
import { isLicence } from './definitions.js'
import { code, firstSentence, quoted, shorten } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'

/** A sentence with its full stop, and the lines that show it. */
export interface Fact {
  text: string
  file: FileBlock
  lines: Line[]
}

export const nameOf = (file: FileBlock) => file.path.split('/').at(-1) ?? file.path
export const depthOf = (file: FileBlock) => file.path.split('/').length
const folderOf = (file: FileBlock) => file.path.split('/').slice(0, -1).join('/')

/** What the whole is called and what its authors say it is. */
export function identityFacts(files: FileBlock[]): Fact[] {
  const top = files.filter((file) => depthOf(file) === 1)
  return [...top.flatMap(readmeFacts).slice(0, 1), ...top.flatMap(manifestFacts).slice(0, 4)]
}

/** What the authors say of the folders below. */
export function folderFacts(files: FileBlock[]): Fact[] {
  const below = files.filter((file) => depthOf(file) > 1)
  return [...below.flatMap(readmeFacts), ...below.flatMap(manifestFacts)]
}

function readmeFacts(file: FileBlock): Fact[] {
  if (!/^readme(\.|$)/i.test(nameOf(file))) return []
  const lines = firstParagraph(file)
  const heading = file.lines.find(({ text }) => /^# \s*[\p{L}\p{N}]/u.test(text))
  const title = heading && plainText(heading.text.slice(2))
  const readme = depthOf(file) === 1 ? 'The README' : code(file.path)
  if (lines.length === 0)
    return heading ? [{ text: `${readme} is headed ${quoted(title!)}.`, file, lines: [heading] }] : []
  const words = firstSentence(plainText(lines.map(({ text }) => text.trim()).join(' ')))
  const subject = title !== undefined ? quoted(title) : depthOf(file) === 1 ? 'the project' : code(`${folderOf(file)}/`)
  return [{ text: `${readme} introduces ${subject}: ${quoted(words)}.`, file, lines }]
}

/** The first lines that are sentences: no heading, badge, picture, table, code, quotation or offer. */
function firstParagraph(file: FileBlock): Line[] {
  let fence = false
  let html = 0
  const found: Line[] = []
  for (const line of file.lines) {
    const text = line.text.trim()
    if (/^(```|~~~)/.test(text)) fence = !fence
    html = Math.max(0, html + openTags(text))
    const prose = !fence && html === 0 && isSentenceLine(text)
    if (prose) found.push(line)
    else if (isParagraph(found)) return found
    else found.length = 0
  }
  return isParagraph(found) ? found : []
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

const isParagraph = (lines: Line[]) =>
  (plainText(lines.map(({ text }) => text).join(' ')).match(/\p{L}{2,}/gu) ?? []).length >= 3

/** Markdown without its signs: the words of links, no pictures, no emphasis. */
function plainText(text: string): string {
  return text
    .replace(/!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, '')
    .replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?/g, '$1')
    .replace(/\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Rows of links and badges, and what is sold or asked for beside the project. */
function isNotice(words: string): boolean {
  const rest = words.replace(/!?\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, '')
  const linksOnly = rest !== words && (rest.match(/\p{L}{2,}/gu) ?? []).length < 3
  const offer = /\b(t-?shirts?|stickers?|sponsors?|sponsoring|donat\w+|buy me a|patreon|discord|follow us)\b/i
  return linksOnly || offer.test(words)
}

const manifests = /^(package\.json|composer\.json|pyproject\.toml|Cargo\.toml|setup\.cfg|go\.mod|[\w.-]+\.gemspec)$/

function manifestFacts(file: FileBlock): Fact[] {
  if (!manifests.test(nameOf(file))) return []
  const given = new Map<string, { value: string; line: Line }>()
  for (const line of file.lines) {
    const [, key = '', value = ''] =
      /^\s{0,2}(?:\w+\.)?"?(name|description|version|summary)"?\s*[:=]\s*["']([^"']+)["']/.exec(line.text) ??
      /^(module)\s+(\S+)/.exec(line.text) ??
      []
    if (value !== '' && !given.has(key)) given.set(key, { value, line })
  }
  const name = given.get('name') ?? given.get('module')
  if (name === undefined) return []
  const version = given.get('version')
  const description = given.get('description') ?? given.get('summary')
  const used = [name, version, description].flatMap((one) => (one === undefined ? [] : [one.line]))
  const ofVersion = version === undefined ? '' : `, version ${version.value}`
  const phrase = description === undefined ? '' : `, and describes it as ${quoted(description.value)}`
  const noun = given.has('name') ? 'package' : 'module'
  const names = `${code(file.path)} names the ${noun} ${code(name.value)}${ofVersion}${phrase}.`
  return [{ text: names, file, lines: used.sort((a, b) => a.number - b.number) }, ...dependencyFacts(file)]
}

/** The libraries that a package needs to run. */
function dependencyFacts(file: FileBlock): Fact[] {
  const start = file.lines.findIndex(({ text }) =>
    /^\s*"dependencies"\s*:|^\[dependencies\]|^dependencies\s*=/.test(text),
  )
  if (start < 0) return []
  const lines: Line[] = []
  const names: string[] = []
  for (const line of file.lines.slice(start + 1)) {
    if (/^\s*[}\]]|^\[/.test(line.text)) break
    const [, name] = /^\s*"?([@\w./-]+)"?\s*(?:[:=<>~^!,"[]|$)/.exec(line.text) ?? []
    if (name === undefined) continue
    lines.push(line)
    names.push(name)
  }
  if (names.length === 0) return []
  const more = names.length > 6 ? ` and ${names.length - 6} more` : ''
  const text = `To run, it needs ${names.slice(0, 6).map(code).join(', ')}${more}, says ${code(file.path)}.`
  return [{ text, file, lines: lines.slice(0, 6) }]
}

/** Commands to build, test and run the project. Workflows repeat what other files say, so they come last. */
export function commandFacts(files: FileBlock[]): Fact[] {
  const order = (file: FileBlock) => (/\.ya?ml$/.test(file.path) ? 1 : 0)
  const sorted = [...files].sort((a, b) => order(a) - order(b) || depthOf(a) - depthOf(b))
  const seen = new Set<string>()
  return sorted.flatMap(commandsOf).filter(({ text }) => {
    const phrase = /`[^`]*`/.exec(text)?.[0] ?? text
    return !seen.has(phrase) && seen.add(phrase)
  })
}

function commandsOf(file: FileBlock): Fact[] {
  if (nameOf(file) === 'package.json') return scriptFacts(file)
  if (/^((GNU)?[Mm]akefile|[Jj]ustfile)$/.test(file.path)) return targetFacts(file)
  if (/^\.github\/workflows\/.*\.ya?ml$/.test(file.path))
    return pick(
      file,
      /^\s*-?\s*run:\s*(?![|>][-+]?\s*$)(?!.*(?:\$\{\{|\$GITHUB_))(\S.*)$/,
      (found) => `The workflow ${code(file.path)} runs ${found}.`,
    )
  if (nameOf(file).startsWith('Dockerfile'))
    return pick(file, /^(?:CMD|ENTRYPOINT)\s+(.+)$/, (found) => `The container starts ${found}.`)
  return /(^|\/)(readme|contributing|build|install|development|hacking)[^/]*$/i.test(file.path) && depthOf(file) <= 2
    ? shownCommands(file)
    : []
}

/** Commands in the code of a document: between fences, indented, or after a dollar sign. */
function shownCommands(file: FileBlock): Fact[] {
  let fence = false
  return file.lines.flatMap((line) => {
    if (/^\s*(```|~~~)/.test(line.text)) fence = !fence
    const found = command.exec(line.text.slice(0, 400))?.[1]?.trim()
    if (found === undefined || !(fence || /^\s*\$|^ {3,}|^\t/.test(line.text))) return []
    return [{ text: `${code(file.path)} gives the command ${code(shorten(found))}.`, file, lines: [line] }]
  })
}

const command =
  /^\s*(?:\$\s+)?((?:npm|npx|pnpm|yarn|bun|deno|node|pip|poetry|uv|python3?|pytest|cargo|go|make|docker|gradle|\.\/gradlew|mvn|bundle|composer|dotnet) [\w./@:-].*)$/

/** The scripts that most people type come first. */
const usualScripts = ['build', 'test', 'dev', 'start', 'lint']

function scriptFacts(file: FileBlock): Fact[] {
  const start = file.lines.findIndex((line) => /^\s*"scripts"\s*:/.test(line.text))
  if (start < 0) return []
  const found: { name: string; fact: Fact }[] = []
  const folder = folderOf(file)
  for (const line of file.lines.slice(start + 1)) {
    if (/^\s*}/.test(line.text)) break
    const [, name, does] = /^\s*"([^"]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(line.text) ?? []
    if (!name || !does) continue
    const where = folder === '' ? '' : ` in ${code(`${folder}/`)}`
    found.push({
      name,
      fact: { text: `${code(`npm run ${name}`)}${where} runs ${code(shorten(does))}.`, file, lines: [line] },
    })
  }
  const rank = (name: string) => (usualScripts.includes(name) ? usualScripts.indexOf(name) : usualScripts.length)
  return found.sort((a, b) => rank(a.name) - rank(b.name)).map(({ fact }) => fact)
}

function targetFacts(file: FileBlock): Fact[] {
  return file.lines.flatMap((line, index) => {
    const [, name] = /^([A-Za-z][\w-]*)\s*:(?!=)/.exec(line.text.slice(0, 200)) ?? []
    if (name === undefined) return []
    const phrase = index > 0 ? saidBy(commentAt(file, index - 1)) : undefined
    const says = phrase === undefined ? '' : `: ${quoted(phrase)}`
    return [
      {
        text: `${code(`${/^just/i.test(nameOf(file)) ? 'just' : 'make'} ${name}`)} is a target of ${code(file.path)}${says}.`,
        file,
        lines: [line],
      },
    ]
  })
}

export function pick(file: FileBlock, pattern: RegExp, say: (found: string) => string): Fact[] {
  return file.lines.flatMap((line) => {
    const found = pattern.exec(line.text.slice(0, 400))?.[1]?.trim()
    return found ? [{ text: say(code(shorten(found))), file, lines: [line] }] : []
  })
}
