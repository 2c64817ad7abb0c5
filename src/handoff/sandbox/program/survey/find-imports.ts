// The imports of one file, as written. An import inside a comment or a text does not count, so that no edge of the import graph is false.
//
// A pattern finds candidates; then the file is read once up to the last candidate, to know which of them are code.

export interface ImportStatement {
  /** The module as written. In Python `from .a import b` is `.a` and `.a:b`, because `b` may be a module. */
  module: string
  line: number
}

/** A file with more imports is generated. */
const mostImports = 500

interface Found {
  /** Where the statement begins; it decides whether this is code. */
  offset: number
  modules: string[]
}

interface Syntax {
  find: (text: string, path: string) => Iterable<Found>
  lexer: 'javascript' | 'python' | 'c'
}

const syntaxes: Record<string, Syntax> = {
  javascript: { find: findJavaScript, lexer: 'javascript' },
  python: { find: findPython, lexer: 'python' },
  go: { find: findGo, lexer: 'c' },
  rust: {
    find: byLine(
      /(?<=^[ \t]*(?:pub(?:\([^)\n]{1,99}\))?[ \t]+)?)(?:mod[ \t]+(\w{1,99})[ \t]*;|use[ \t]+((?:crate|super|self)(?:::\w{1,99})+))/gm,
      ([, child, path]) => (child === undefined ? path! : `mod ${child}`),
    ),
    lexer: 'c',
  },
  java: { find: byLine(/^import[ \t]+(?:static[ \t]+)?([\w.]{1,300})[ \t]*;/gm, ([, name]) => name!), lexer: 'c' },
  kotlin: { find: byLine(/^import[ \t]+([\w.]{1,300})/gm, ([, name]) => name!), lexer: 'c' },
  c: { find: byLine(/(?<=^[ \t]*)#[ \t]*include[ \t]*"([^"\n]{1,300})"/gm, ([, path]) => path!), lexer: 'c' },
}

/** What stands before a statement in its line is looked at last, so that a search goes from one statement to the next. */
function byLine(pattern: RegExp, moduleOf: (match: RegExpExecArray) => string): Syntax['find'] {
  return function* find(text) {
    for (const match of text.matchAll(pattern)) {
      yield { offset: match.index, modules: [moduleOf(match)] }
    }
  }
}

const quoted = /\s{0,200}(?:"([^"\n\\]{1,300})"|'([^'\n\\]{1,300})')/y
const called = /\s{0,200}\(\s{0,200}(?:"([^"\n\\]{1,300})"|'([^'\n\\]{1,300})')\s{0,200}[),]/y
const clause = /[\s\w$*,{}]*/y

function* findJavaScript(text: string, path: string): Generator<Found> {
  const typed = /\.[cm]?tsx?$/.test(path)
  const matchAt = (pattern: RegExp, from: number) => {
    pattern.lastIndex = from
    const match = pattern.exec(text)
    return match?.[1] ?? match?.[2]
  }
  /** The end of the last clause, and the module behind it. A keyword inside the clause ends there too; the first may stand in a comment. */
  let clauseEnd = 0
  let clauseModule: string | undefined
  for (const { 0: keyword, index } of text.matchAll(/(?<![\w$.])(?:import|export|require)(?![\w$])/g)) {
    const after = index + keyword.length
    let module = keyword === 'export' ? undefined : matchAt(called, after)
    // In TypeScript only `import x = require()` is an import.
    if (
      keyword === 'require' &&
      typed &&
      !/import\s{1,9}[\w$]{1,99}\s{0,9}=\s{0,9}$/.test(text.slice(Math.max(0, index - 130), index))
    )
      continue
    if (keyword === 'import') module ??= matchAt(quoted, after)
    if (module === undefined && keyword !== 'require') {
      if (after >= clauseEnd) {
        clauseEnd = endOfClause(text, after)
        const isImport = /[\s}*]from\s*$/.test(text.slice(Math.max(after, clauseEnd - 60), clauseEnd))
        clauseModule = isImport ? matchAt(quoted, clauseEnd) : undefined
      }
      module = clauseModule
    }
    if (module !== undefined) yield { offset: index, modules: [module] }
  }
}

/** The end of the names, braces and comments that follow. */
function endOfClause(text: string, from: number): number {
  for (let at = from; ; ) {
    clause.lastIndex = at
    at += clause.exec(text)![0].length
    if (text.startsWith('//', at)) at = endOf(text, '\n', at)
    else if (text.startsWith('/*', at)) at = endOf(text, '*/', at + 2)
    else return at
  }
}

function* findPython(text: string): Generator<Found> {
  const close = nextOf(text, ')')
  const heads = /(?<=^[ \t]*)(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*|import[ \t]+)/gm
  for (const match of text.matchAll(heads)) {
    const [head, from] = match
    const start = match.index + head.length
    const names = text[start] === '(' ? text.slice(start + 1, close(start)) : logicalLine(text, start)
    const list = names
      .replace(/#[^\n]*/g, '')
      .split(',')
      .flatMap((name) => /[\w.]+/.exec(name)?.[0] ?? [])
    yield { offset: match.index, modules: from === undefined ? list : [from, ...list.map((name) => `${from}:${name}`)] }
  }
}

/** The rest of the line, with the lines that a backslash continues it on. */
function logicalLine(text: string, from: number): string {
  let end = endOf(text, '\n', from)
  for (let lines = 0; lines < 50 && text.startsWith('\\\n', end - 2); lines++) end = endOf(text, '\n', end)
  return text.slice(from, end).split(/[#;]/, 1)[0]!.replaceAll('\\\n', ' ')
}

const goImport = /^import[ \t]+(?:(\()|(?:[\w.]+[ \t]+)?"([^"\n]{1,300})")/my

function* findGo(text: string): Generator<Found> {
  const close = nextOf(text, ')')
  for (let at = text.indexOf('import'); at >= 0; at = text.indexOf('import', at + 1)) {
    goImport.lastIndex = at
    const match = goImport.exec(text)
    if (!match) continue
    const [, group, one] = match
    if (group === undefined) yield { offset: match.index, modules: [one!] }
    else {
      const body = text.slice(match.index, close(match.index))
      for (const found of body.matchAll(/^[ \t]*(?:[\w.]+[ \t]+)?"([^"\n]{1,300})"/gm)) {
        yield { offset: match.index + found.index + found[0].search(/\S/), modules: [found[1]!] }
      }
      if (close(match.index) === text.length) return
    }
  }
}

/** Finds a sign again and again without reading any part of the text twice. */
function nextOf(text: string, sign: string): (from: number) => number {
  let found = -1
  return (from) => {
    if (found < from) {
      found = text.indexOf(sign, from)
      if (found < 0) found = text.length
    }
    return found
  }
}

/** The text has one character for each byte. */
export function findImports(text: string, grammar: string, path: string): ImportStatement[] {
  const syntax = Object.hasOwn(syntaxes, grammar) ? syntaxes[grammar]! : undefined
  if (!syntax) return []
  const isCode = codeReader(text, syntax.lexer)
  const statements: ImportStatement[] = []
  let line = 1
  let counted = 0
  for (const { offset, modules } of syntax.find(text, path)) {
    for (let at = text.indexOf('\n', counted); at >= 0 && at < offset; at = text.indexOf('\n', counted)) {
      line += 1
      counted = at + 1
    }
    if (isCode(offset)) for (const module of modules) statements.push({ module: decode(module), line })
    if (statements.length >= mostImports) break
  }
  return statements
}

const decode = (text: string) => (/[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text)

/** Tells for growing offsets whether they are code: outside of comments, texts and regular expressions. */
function codeReader(text: string, lexer: Syntax['lexer']): (offset: number) => boolean {
  let at = 0
  /** For each open `${` of a template, the open braces inside it. */
  const templates: number[] = []
  const skip = (): number => {
    if (lexer === 'python') return skipPython(text, at)
    if (lexer === 'javascript') return skipJavaScript(text, at, templates)
    return skipC(text, at)
  }
  return (offset) => {
    while (at < offset) at = skip()
    return at === offset
  }
}

/** The offset after the comment, the text or the single character that begins here. */
function skipC(text: string, at: number): number {
  const next = text[at + 1]
  if (text[at] === '/' && next === '/') return endOf(text, '\n', at)
  if (text[at] === '/' && next === '*') return endOf(text, '*/', at + 2)
  if (text[at] === '`') return endOf(text, '`', at + 1)
  if (text[at] === '"') return endOfString(text, at)
  return at + 1
}

function skipPython(text: string, at: number): number {
  const sign = text[at]
  if (sign === '#') return endOf(text, '\n', at)
  if (sign !== '"' && sign !== "'") return at + 1
  const triple = sign.repeat(3)
  if (!text.startsWith(triple, at)) return endOfString(text, at)
  let end = text.indexOf(triple, at + 3)
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf(triple, end + 1)
  return end < 0 ? text.length : end + 3
}

function skipJavaScript(text: string, at: number, templates: number[]): number {
  const sign = text[at]
  const next = text[at + 1]
  if (sign === '/' && next === '/') return endOf(text, '\n', at)
  if (sign === '/' && next === '*') return endOf(text, '*/', at + 2)
  if (sign === '"' || sign === "'") return endOfString(text, at)
  if (sign === '`') return endOfTemplate(text, at + 1, templates)
  if (sign === '/' && startsRegExp(text, at)) return endOfRegExp(text, at)
  if (templates.length === 0) return at + 1
  if (sign === '{') templates[templates.length - 1]! += 1
  if (sign !== '}') return at + 1
  if (templates.at(-1)! > 0) {
    templates[templates.length - 1]! -= 1
    return at + 1
  }
  templates.pop()
  return endOfTemplate(text, at + 1, templates)
}

function endOf(text: string, close: string, from: number): number {
  const end = text.indexOf(close, from)
  return end < 0 ? text.length : end + close.length
}

/** After the closing sign, or at the end of the line, where an open text cannot go on. */
function endOfString(text: string, at: number): number {
  const sign = text[at]
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === sign) return index + 1
    else if (text[index] === '\n') return index
  }
  return text.length
}

function endOfTemplate(text: string, from: number, templates: number[]): number {
  for (let index = from; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === '`') return index + 1
    else if (text[index] === '$' && text[index + 1] === '{') {
      templates.push(0)
      return index + 2
    }
  }
  return text.length
}

/** A slash divides after a value, and begins a regular expression after anything else. */
function startsRegExp(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 40), at).trimEnd()
  if (before === '' || /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|delete|await|yield|throw)$/.test(before))
    return true
  return !/[\w$)\]}"'`]$/.test(before) && !before.endsWith('<')
}

/** Longer ones are divisions. */
const longestRegExp = 1_000

function endOfRegExp(text: string, at: number): number {
  let inClass = false
  for (let index = at + 1; index < Math.min(text.length, at + longestRegExp); index++) {
    const sign = text[index]
    if (sign === '\n') return at + 1
    if (sign === '\\') index++
    else if (sign === '[') inClass = true
    else if (sign === ']') inClass = false
    else if (sign === '/' && !inClass) return index + 1
  }
  return at + 1
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text[at - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1
}
