// Words of the languages: what kind of definition a keyword begins, and which words stand where a name would and are none.

const kinds: Record<string, string> = {
  func: 'function',
  fn: 'function',
  def: 'function',
  defp: 'function',
  fun: 'function',
  sub: 'function',
  proc: 'function',
  procedure: 'function',
  subroutine: 'function',
  defn: 'function',
  'defn-': 'function',
  defun: 'function',
  defmacro: 'macro',
  defmodule: 'module',
  mod: 'module',
  val: 'constant',
  const: 'constant',
  static: 'constant',
  let: 'variable',
  var: 'variable',
  define: 'macro',
  'macro_rules!': 'macro',
  typedef: 'type',
  '}': 'type',
  typealias: 'type',
  '-': 'method',
  '+': 'method',
  exports: 'export',
}

export function kindOfKeyword(keyword: string, bare: string): string {
  if (keyword === '') return bare
  const plain = keyword.toLowerCase()
  if (/^[#=*]+$/.test(plain)) return 'heading'
  return Object.hasOwn(kinds, plain) ? kinds[plain]! : plain.replace('@', '')
}

const control = 'if for while switch catch'

/** Only for shapes without a keyword, where a statement looks like a definition. After a keyword, such as in `fn new`, any name is one. */
const reserved: Record<string, ReadonlySet<string>> = Object.fromEntries(
  Object.entries({
    javascript: `${control} with function`,
    java: `${control} synchronized return throw new else do try super this assert`,
    csharp: `${control} lock using fixed foreach return throw new else do try base this await nameof typeof sizeof default`,
    c: `${control} return else do sizeof defined alignof`,
    objc: `${control} return else do sizeof`,
    dart: `${control} return else do assert await super`,
    erlang: 'if case catch fun receive begin when',
    julia: 'if for while return',
  }).map(([language, words]) => [language, new Set(words.split(' '))]),
)

/** Words after a keyword in a sentence of a document string: «class and function». */
const prose = new Set('and or is in as for with from'.split(' '))

export function isReserved(language: string, keyword: string, word: string): boolean {
  if (keyword !== '') return language === 'python' && prose.has(word)
  return Object.hasOwn(reserved, language) && reserved[language]!.has(word)
}
