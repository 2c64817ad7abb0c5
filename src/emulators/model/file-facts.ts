// What can be read off a source file without understanding it: what it says of itself, what it exports, what it imports, where a program starts.
import { commentAt, commentOf, openingComment, saidBy } from './comments.js'
import { codeLines, definedIn, importIn, isProse } from './definitions.js'
import { depthOf, type Fact, mostNames, nameOf } from './fact.js'
import { code, firstSentence, plainText, quoted, shorten } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'
import { pick } from './project-facts.js'

export const holdsTests = (file: FileBlock) =>
  file.kind === 'test' ||
  /(^|\/)(tests?|__tests__|spec|e2e)\/|[._-](test|spec)\.\w+$|(^|\/)test_\w+\.py$/.test(file.path)

/** Languages whose definitions and comments this model can read. */
const codeFile =
  /\.([cm]?[jt]sx?|vue|svelte|py|pyi|go|rs|java|kt|cs|scala|swift|rb|php|lua|exs?|[ch](pp|xx|c)?|hpp|sh|bash)$/

/** What a file says it is for, what it exports, and what it imports. */
export function fileFacts(file: FileBlock): Fact[] {
  if (holdsTests(file)) return testFacts(file)
  if (!codeFile.test(file.path)) return []
  const opening = openingComment(file)
  const said = saidBy(opening)
  const commentFacts =
    said === undefined
      ? []
      : [{ text: `${code(file.path)} says of itself: ${quoted(said)}.`, file, lines: opening!.lines }]
  return [...commentFacts, ...exportFacts(file, said === undefined), ...importFacts(file)]
}

/** The first title in a test file. */
function testFacts(file: FileBlock): Fact[] {
  const titled = /^\s*(?:describe|suite|test|it)(?:\.\w+)*\(\s*(['"`])((?:(?!\1).){4,120})\1/
  for (const line of file.lines) {
    const [, , title] = titled.exec(line.text.slice(0, 300)) ?? []
    if (title !== undefined) return [{ text: `${code(file.path)} tests ${quoted(title)}.`, file, lines: [line] }]
  }
  return []
}

interface Exported {
  name: string
  line: Line
  index: number
}

/** Names that other files can use, as the language marks them. */
function exportsOf(file: FileBlock): Exported[] {
  const marked = exportMark(file.path)
  const places = new Map(file.lines.map((line, index) => [line, index]))
  return codeLines(file.lines).flatMap((line) => {
    if (isNoName.test(line.text)) return []
    const assigned = /^(?:module\.)?exports\.(\w+)\s*=/.exec(line.text)?.[1]
    const defined = assigned === undefined ? definedIn(line.text) : { name: assigned }
    return defined && !defined.name.startsWith('_') && marked(line.text, defined.name)
      ? [{ name: defined.name, line, index: places.get(line)! }]
      : []
  })
}

/** A value that is exported without a name, and a method of a type in Go. */
const isNoName = /^export default (?!(?:async |abstract )?(?:function|class)\b)|^func \(/

function exportMark(path: string): (line: string, name: string) => boolean {
  if (/\.[cm]?[jt]sx?$|\.(vue|svelte)$/.test(path)) return (line) => /^export |^(module\.)?exports\b/.test(line)
  if (path.endsWith('.go')) return (line, name) => /^(func|type|const|var)\b/.test(line) && /^\p{Lu}/u.test(name)
  if (path.endsWith('.rs')) return (line) => /^pub\s/.test(line)
  if (/\.(java|kt|cs|scala|swift)$/.test(path)) return (line) => /^(public|open|export)\b/.test(line)
  if (/\.pyi?$/.test(path)) return (line, name) => /^(async def|def|class)\b/.test(line) && !name.startsWith('_')
  return (line) => /^\S/.test(line)
}

const verb = (path: string) => (/\.[cm]?[jt]sx?$|\.(vue|svelte|go)$/.test(path) ? 'exports' : 'defines')

/** With the comment of the first exported definition, where the file says nothing of itself. */
function exportFacts(file: FileBlock, wordless: boolean): Fact[] {
  const all = exportsOf(file)
  const found = all.filter(({ name }, index) => all.findIndex((one) => one.name === name) === index)
  const [first] = found
  if (first === undefined) return reexportFacts(file)
  const named = found.slice(0, mostNames)
  const among = found.length > named.length ? ', among others,' : ''
  const commentAbove = wordless ? commentOf(file, first.index) : undefined
  const said = saidBy(commentAbove)
  const comment = said === undefined ? '' : `; of ${code(first.name)} it says: ${quoted(said)}`
  const text = `${code(file.path)} ${verb(file.path)}${among} ${named.map(({ name }) => code(name)).join(', ')}${comment}.`
  const lines = [
    ...(said === undefined ? [] : commentAbove!.lines.slice(0, mostNames)),
    ...named.map(({ line }) => line),
  ]
  return [{ text, file, lines: inOrder(lines) }]
}

const inOrder = (lines: Line[]) => [...new Set(lines)].sort((a, b) => a.number - b.number)

function reexportFacts(file: FileBlock): Fact[] {
  const lines = file.lines.filter(
    ({ text }) => /^(export|pub use|from \.|module\.exports = require)/.test(text) && sourceIn(text) !== undefined,
  )
  const [first] = lines
  if (first === undefined) return []
  const used = lines.filter(
    ({ text }, index) => lines.findIndex((one) => sourceIn(one.text) === sourceIn(text)) === index,
  )
  const shown = used.slice(0, mostNames)
  const sources = shown.map(({ text }) => code(sourceIn(text)!)).join(', ')
  const verb = shown.length === 1 ? 'exports' : 'export'
  return [{ text: `${code(file.path)} passes on what ${sources} ${verb}.`, file, lines: shown }]
}

const sourceIn = (text: string) =>
  importIn(text) ??
  /^pub use ([\w:]+\w)(?:;|::\{)/.exec(text)?.[1] ??
  /^module\.exports = require\(['"]([^'"]+)['"]\)/.exec(text)?.[1]

/** Imports of the repository's own files. */
function importFacts(file: FileBlock): Fact[] {
  const inner = file.lines.flatMap((line) => {
    const found = /^export\b/.test(line.text) ? undefined : importIn(line.text)
    return found !== undefined && /^(\.[^'"]|crate::\w|super::\w)/.test(found) && !found.endsWith(':')
      ? [{ found, line }]
      : []
  })
  const [first] = inner
  if (!first) return []
  const used = inner.filter(({ found }, index) => inner.findIndex((one) => one.found === found) === index)
  const shown = used.slice(0, mostNames)
  const text = `${code(file.path)} imports ${shown.map(({ found }) => code(found)).join(', ')}.`
  return [{ text, file, lines: shown.map(({ line }) => line) }]
}

/** The files that most of the shown files import, with lines that do. */
export function centralFacts(files: FileBlock[]): Fact[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const users = new Map<FileBlock, { file: FileBlock; line: Line }[]>()
  for (const file of files) {
    if (holdsTests(file)) continue
    const targets = new Set<FileBlock>()
    for (const line of file.lines) {
      const target = resolveRelative(file.path, importIn(line.text), byPath)
      if (target === undefined || targets.has(target)) continue
      targets.add(target)
      users.set(target, [...(users.get(target) ?? []), { file, line }])
    }
  }
  const most = [...users].filter(([, by]) => by.length >= 3).sort((a, b) => b[1].length - a[1].length)
  return most.slice(0, 3).map(([target, by]) => {
    const [first, ...others] = by.slice(0, mostNames).map(({ file, line }) => ({ file, lines: [line] }))
    const users = [first!, ...others].map(({ file }) => code(file.path)).join(', ')
    const among = by.length > mostNames ? 'among others ' : ''
    return { text: `${code(target.path)} is imported by ${among}${users}.`, ...first!, also: others }
  })
}

/** The file of the prompt that a relative JavaScript import names. */
function resolveRelative(
  from: string,
  wanted: string | undefined,
  files: Map<string, FileBlock>,
): FileBlock | undefined {
  if (wanted === undefined || !wanted.startsWith('.') || !/\.[cm]?[jt]sx?$/.test(from)) return undefined
  const parts = from.split('/').slice(0, -1)
  for (const part of wanted.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  const base = parts.join('/')
  const stem = base.replace(/\.[cm]?jsx?$/, '')
  const tried = [
    base,
    ...['ts', 'tsx', 'js', 'jsx', 'mts', 'mjs'].flatMap((end) => [`${stem}.${end}`, `${base}/index.${end}`]),
  ]
  return tried.flatMap((path) => files.get(path) ?? [])[0]
}

/** Where the program starts, or what a package offers first. */
export function entryFacts(files: FileBlock[]): Fact[] {
  const starts =
    /^func main\(\)|^(?:pub )?(?:async )?fn main\(|^if __name__\s*==\s*['"]__main__|\bpublic static void main\b|^\s*int main\(/
  const sources = files.filter((file) => !holdsTests(file) && !isProse(file)).sort((a, b) => depthOf(a) - depthOf(b))
  const named = sources.filter(
    (file) =>
      !besides.test(file.path) && /^(main|index|app|cli|server|__main__|__init__|mod|lib)\.\w+$/.test(nameOf(file)),
  )
  const shallow = named.filter((file) => depthOf(file) <= Math.max(2, depthOf(named[0]!))).slice(0, 3)
  return [
    ...sources.filter((file) => nameOf(file) === 'package.json').flatMap(packageEntries),
    ...sources.flatMap((file): Fact[] => {
      if (besides.test(file.path) || (file.path.endsWith('.rs') && !/(^|\/)main\.rs$|\/bin\//.test(file.path)))
        return []
      const line = file.lines.find((one) => starts.test(one.text.slice(0, 400)) && !/^\s*(\/\/|#|\*)/.test(one.text))
      return line ? [{ text: `A program starts in ${code(file.path)}.`, file, lines: [line] }] : []
    }),
    ...shallow.flatMap((file) => exportFacts(file, false).map(startAt)),
  ]
}

const startAt = (fact: Fact): Fact => ({ ...fact, text: `Reading can start here: ${fact.text}` })

/** Code beside the product. */
export const besides =
  /^\.|(^|\/)(tests?|examples?|demos?|bench\w*|perf[\w-]*|scripts?|docs?|contrib|playground|fixtures?|runtime[-_]tests?)\/|(^|\/)([\w.-]+\.config\.\w+|setup\.py|conftest\.py|noxfile\.py|build\.rs|gulpfile\.\w+)$|Benchmark\.\w+$/

const packageEntries = (file: FileBlock) =>
  pick(file, /^\s*"(?:main|bin|module)"\s*:\s*"([^"]+)"/, (found) => `${code(file.path)} names the entry ${found}.`)

/** What its own authors marked as unfinished or dangerous, in comments. */
export function riskFacts(files: FileBlock[]): Fact[] {
  return files.flatMap((file) => {
    if (isProse(file) || holdsTests(file) || file.path.startsWith('.')) return []
    const facts = file.lines.flatMap(({ text }, index): Fact[] => {
      // Most lines are no such comment, and reading one costs.
      const comment = isMarked.test(text) ? commentAt(file, index) : undefined
      const said = firstSentence(plainText(comment?.text ?? ''))
      if (comment === undefined || !mark.test(said) || /[{};,]$/.test(said) || tellingWords(said) < 4) return []
      const quotation = quoted(shorten(said))
      return [
        { text: `A comment in ${code(file.path)} says: ${quotation}.`, file, lines: comment.lines.slice(0, mostNames) },
      ]
    })
    return facts.slice(0, 2)
  })
}

const isMarked = /\b(TODO|FIXME|HACK|XXX|DEPRECATED|deprecated|SECURITY)\b/
const mark = /^(TODO|FIXME|HACK|XXX|DEPRECATED|@deprecated|SECURITY)\b(\([^)]*\))?[^\w]/

/** Without addresses. */
const tellingWords = (text: string) => text.replace(/\bhttps?:\S+/g, '').match(/\p{L}{2,}/gu)?.length ?? 0
