// Words of the languages: which kind of definition a keyword begins, and which words look like a name and are none.

const keywordKinds: Record<string, string> = {
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

export function definitionKind(keyword: string, bare: string): string {
  if (keyword === '') return bare
  const plain = keyword.toLowerCase()
  if (Object.hasOwn(keywordKinds, plain)) return keywordKinds[plain]!
  return /^[#=*]+$/.test(plain) ? 'heading' : plain.replace('@', '')
}

const controlWords = 'if for while switch catch'

/** For definitions without a keyword, which a statement may resemble. After a keyword, such as in `fn new`, any name is valid. */
const reserved: Record<string, ReadonlySet<string>> = Object.fromEntries(
  Object.entries({
    javascript: `${controlWords} with function`,
    java: `${controlWords} synchronized return throw new else do try super this assert`,
    csharp: `${controlWords} lock using fixed foreach return throw new else do try base this await nameof typeof sizeof default`,
    c: `${controlWords} return else do sizeof defined alignof`,
    objc: `${controlWords} return else do sizeof`,
    dart: `${controlWords} return else do assert await super`,
    erlang: 'if case catch fun receive begin when',
    julia: 'if for while return',
  }).map(([language, words]) => [language, new Set(words.split(' '))]),
)

/** Words that follow a keyword in the prose of a docstring: "class and function". */
const sentenceWords = new Set('and or is in as for with from'.split(' '))

export function isReservedWord(language: string, keyword: string, word: string): boolean {
  if (keyword !== '') return language === 'python' && sentenceWords.has(word)
  return Object.hasOwn(reserved, language) && reserved[language]!.has(word)
}
