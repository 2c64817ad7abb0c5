// What the offline model says of files, one sentence at a time: what can be read off them without understanding, each with the lines that show it.
import { commentAt, commentOf, openingComment, saidBy } from './comments.js'
import { codeLines, definedIn, importIn, isProse } from './definitions.js'
import { code, firstSentence, plainText, quoted, shorten } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'

/** A sentence with its full stop, and the lines that show it. */
export interface Fact {
  text: string
  file: FileBlock
  lines: Line[]
}

/** Names that one sentence lists. */
const mostNames = 6

const nameOf = ({ path }: FileBlock) => path.split('/').at(-1) ?? path
const depthOf = ({ path }: FileBlock) => path.split('/').length

export const holdsTests = (file: FileBlock) =>
  file.kind === 'test' ||
  /(^|\/)(tests?|__tests__|spec|e2e)\/|[._-](test|spec)\.\w+$|(^|\/)test_\w+\.py$/.test(file.path)

/** Code beside the product. */
export const besides =
  /^\.|(^|\/)(tests?|examples?|demos?|bench\w*|scripts?|docs?|fixtures?)\/|(^|\/)[\w.-]+\.config\.\w+$/

// ── the whole ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the README and the manifests at the top say of the project. */
export function identityFacts(files: FileBlock[]): Fact[] {
  const top = files.filter((file) => depthOf(file) === 1)
  return [...top.flatMap(readmeFacts).slice(0, 1), ...top.flatMap(manifestFacts).slice(0, 2)]
}

/** Its heading, and the first sentence of its first paragraph that is one. */
function readmeFacts(file: FileBlock): Fact[] {
  // A later piece of it introduces nothing.
  if (!/^readme(\.\w+)?$/i.test(nameOf(file)) || !isProse(file) || file.lines[0]?.number !== 1) return []
  const heading = file.lines.find(({ text }) => /^#\s+\S/.test(text))
  const start = file.lines.findIndex(
    ({ text }) => /^[\p{L}*_`]/u.test(text) && (text.match(/\p{L}{2,}/gu) ?? []).length > 2,
  )
  const end = file.lines.findIndex(({ text }, index) => index > start && !/^[\p{L}\p{N}*_`(]/u.test(text))
  const paragraph = start < 0 ? [] : file.lines.slice(start, end < 0 ? undefined : end)
  const words = firstSentence(plainText(paragraph.map(({ text }) => text).join(' ')))
  const title = plainText(heading?.text.slice(2) ?? '')
  const subject = title === '' ? 'the project' : quoted(title)
  const text = `The README ${words === '' ? `is headed ${subject}` : `introduces ${subject}: ${quoted(words)}`}.`
  const lines = paragraph.length > 0 ? paragraph : [heading].filter((line) => line !== undefined)
  return lines.length === 0 ? [] : [{ text, file, lines }]
}

function manifestFacts(file: FileBlock): Fact[] {
  if (!/^(package\.json|pyproject\.toml|Cargo\.toml|go\.mod)$/.test(nameOf(file))) return []
  const find = (key: RegExp) => {
    const line = file.lines.find(({ text }) => key.test(text))
    return line && { line, value: key.exec(line.text)![1]! }
  }
  const name = find(/^\s{0,2}"?name"?\s*[:=]\s*["']([^"']+)["']/) ?? find(/^module\s+(\S+)/)
  if (name === undefined) return []
  const description = find(/^\s{0,2}"?description"?\s*[:=]\s*["']([^"']+)["']/)
  const phrase = description === undefined ? '' : `, and describes it as ${quoted(firstSentence(description.value))}`
  const text = `${code(file.path)} names the package ${code(name.value)}${phrase}.`
  return [{ text, file, lines: inOrder([name.line, ...(description ? [description.line] : [])]) }]
}

const inOrder = (lines: Line[]) => [...new Set(lines)].sort((a, b) => a.number - b.number)

/** Commands to build, test and run the project. */
export const commandFacts = (files: FileBlock[]): Fact[] =>
  files.flatMap((file) => {
    if (nameOf(file) === 'package.json') return scriptFacts(file)
    return nameOf(file) === 'Makefile' ? targetFacts(file) : []
  })

function scriptFacts(file: FileBlock): Fact[] {
  const start = file.lines.findIndex(({ text }) => /^\s*"scripts"\s*:/.test(text))
  const end = file.lines.findIndex(({ text }, index) => index > start && /^\s*}/.test(text))
  return file.lines.slice(start + 1, start < 0 ? 0 : Math.max(0, end)).flatMap((line) => {
    const [, name, does] = /^\s*"([^"]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(line.text) ?? []
    if (!name || !does) return []
    return [
      { text: `${code(`npm run ${name}`)} runs ${code(shorten(does.replaceAll('\\"', '"')))}.`, file, lines: [line] },
    ]
  })
}

const targetFacts = (file: FileBlock): Fact[] =>
  file.lines.flatMap((line) => {
    const [, name] = /^([A-Za-z][\w-]*)\s*:(?!=)/.exec(line.text) ?? []
    return name === undefined
      ? []
      : [{ text: `${code(`make ${name}`)} is a target of ${code(file.path)}.`, file, lines: [line] }]
  })

/** Where a reader may start: what the files say that usually come first. */
export function entryFacts(files: FileBlock[]): Fact[] {
  const first = files.filter(
    (file) =>
      !holdsTests(file) &&
      !besides.test(file.path) &&
      /^(main|index|app|cli|server|__main__|__init__|mod|lib)\.\w+$/.test(nameOf(file)),
  )
  const facts = first.sort((a, b) => depthOf(a) - depthOf(b)).flatMap((file) => fileFacts(file).slice(0, 1))
  return facts.map((fact) => ({ ...fact, text: `Reading can start here: ${fact.text}` }))
}

/** What its own authors marked as unfinished or dangerous, in comments. */
export const riskFacts = (files: FileBlock[]): Fact[] =>
  files.flatMap((file) => {
    if (isProse(file) || holdsTests(file)) return []
    const facts = file.lines.flatMap(({ text }, index): Fact[] => {
      // Most lines are no such comment, and reading one costs.
      const comment = /\b(TODO|FIXME|HACK|SECURITY)\b/.test(text) ? commentAt(file, index) : undefined
      if (comment === undefined || !/^(TODO|FIXME|HACK|SECURITY)\b/.test(comment.text)) return []
      const said = quoted(firstSentence(plainText(comment.text)))
      return [
        { text: `A comment in ${code(file.path)} says: ${said}.`, file, lines: comment.lines.slice(0, mostNames) },
      ]
    })
    return facts.slice(0, 2)
  })

// ── one file ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Languages whose definitions and comments this model can read. */
const codeFile = /\.([cm]?[jt]sx?|pyi?|go|rs|java|kt|cs|scala|swift|rb|php|lua|[ch](pp)?|sh)$/

/** What a file says it is for, what it exports, and what it imports. */
export function fileFacts(file: FileBlock): Fact[] {
  if (holdsTests(file)) return testFacts(file)
  if (!codeFile.test(file.path)) return []
  const opening = openingComment(file)
  const said = saidBy(opening)
  const text = `${code(file.path)} says of itself: ${quoted(said ?? '')}.`
  const facts = said === undefined ? [] : [{ text, file, lines: opening!.lines }]
  return [...facts, ...exportFacts(file, said === undefined), ...importFacts(file)]
}

/** The first title in a test file. */
function testFacts(file: FileBlock): Fact[] {
  const titled = /^\s*(?:describe|suite|test|it)(?:\.\w+)*\(\s*(['"`])((?:(?!\1).){4,120})\1/
  const line = file.lines.find(({ text }) => titled.test(text))
  return line ? [{ text: `${code(file.path)} tests ${quoted(titled.exec(line.text)![2]!)}.`, file, lines: [line] }] : []
}

/** Names that other files can use, with the comment of the first where the file says nothing of itself. */
function exportFacts(file: FileBlock, wordless: boolean): Fact[] {
  const marked = /\.[cm]?[jt]sx?$/.test(file.path) ? /^export\s+(?!default\s+\w+\()/ : /^(?!func \()\S/
  const named = new Map<string, Line>()
  for (const line of codeLines(file.lines)) {
    const name = marked.test(line.text) ? definedIn(line.text)?.name : undefined
    if (name !== undefined && !name.startsWith('_') && !named.has(name)) named.set(name, line)
  }
  const shown = [...named].slice(0, mostNames)
  const [first] = shown
  if (first === undefined) return []
  const comment = wordless ? commentOf(file, file.lines.indexOf(first[1])) : undefined
  const said = saidBy(comment)
  const of = said === undefined ? '' : `; of ${code(first[0])} it says: ${quoted(said)}`
  const among = named.size > shown.length ? ', among others,' : ''
  const text = `${code(file.path)} exports${among} ${shown.map(([name]) => code(name)).join(', ')}${of}.`
  const lines = [...(said === undefined ? [] : comment!.lines.slice(0, mostNames)), ...shown.map(([, line]) => line)]
  return [{ text, file, lines: inOrder(lines) }]
}

/** Imports of the repository's own files. */
function importFacts(file: FileBlock): Fact[] {
  const used = new Map<string, Line>()
  for (const line of file.lines) {
    const found = importIn(line.text)
    if (found !== undefined && /^(\.|crate::)/.test(found) && !used.has(found)) used.set(found, line)
  }
  const shown = [...used].slice(0, mostNames)
  const text = `${code(file.path)} imports ${shown.map(([name]) => code(name)).join(', ')}.`
  return shown.length === 0 ? [] : [{ text, file, lines: shown.map(([, line]) => line) }]
}
