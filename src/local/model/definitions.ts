// Sees definitions, comments and imports in a line of whatever language, by its shape alone.
import type { FileBlock } from './prompt.js'

export interface Defined {
  name: string
  /** `function`, `class`, … as a word for people. */
  kind: string
}

const keyword =
  /^(\s*)(?:@\w+\s+)*(?:(?:export|default|declare|public|private|protected|internal|static|async|abstract|final|override|pub(?:\([^)]*\))?|unsafe|extern|inline|open|sealed|data)\s+)*(function\*?|class|interface|type|enum|struct|trait|def|fn|func|fun|const|let|var|val|module|namespace|record|protocol|sub|defmodule|defp?|CREATE TABLE)\s+(?:\([^)]*\)\s*)?(?:`|")?([A-Za-z_$][\w$?!]*)/
const method =
  /^\s{1,8}(?:(?:async|static|get|set|public|private|override|readonly)\s+)*\*?#?([A-Za-z_$][\w$]*)\s*(?:<[^>]*>)?\([^;]*\)?\s*(?::[^{=]*)?\{$/
const notMethods = new Set(['if', 'for', 'while', 'switch', 'catch', 'with', 'function', 'return', 'else', 'do', 'try'])
const cFunction = /^[A-Za-z_][\w\s*]*[\s*]([A-Za-z_]\w*)\([^;]*$/

const nouns: Record<string, string> = {
  'function*': 'function',
  def: 'function',
  defp: 'function',
  fn: 'function',
  func: 'function',
  fun: 'function',
  sub: 'function',
  const: 'constant',
  let: 'variable',
  var: 'variable',
  val: 'constant',
  defmodule: 'module',
  'CREATE TABLE': 'table',
}

/** Lines are looked at up to here: a definition's name never stands farther in, and a line may be a whole minified file. */
const reach = 300

export function definedIn(line: string): Defined | undefined {
  const text = line.slice(0, reach)
  const [, indent = '', word = '', name] = keyword.exec(text) ?? []
  if (name !== undefined && !(indent !== '' && /^(const|let|var|val|type)$/.test(word))) {
    return { name, kind: nouns[word] ?? word }
  }
  const [, methodName] = method.exec(text) ?? []
  if (methodName !== undefined && !notMethods.has(methodName)) return { name: methodName, kind: 'method' }
  const [, cName] = cFunction.exec(text) ?? []
  return cName !== undefined && !notMethods.has(cName) && !/^(return|else|typedef)\b/.test(text)
    ? { name: cName, kind: 'function' }
    : undefined
}

/** The words of a comment line; undefined when it is not one. An empty comment gives empty words. */
export function commentIn(whole: string): string | undefined {
  const text = whole.slice(0, 2 * reach)
  const [, line, star] =
    /^\s*(?:(?:\/\/[/!]?|#(?![!{[])|--(?!-)|;;+|%%?(?=\s))\s?(.*)|(?:\/\*\*?|\*(?!\/)|"""|''')\s?(.*?))\s*(?:\*\/|""")?\s*$/.exec(
      text,
    ) ?? []
  const words = line ?? star
  return words === undefined ? undefined : words.trim()
}

/** What a file imports, as written. */
export function importIn(line: string): string | undefined {
  const text = line.slice(0, reach)
  const found =
    /^\s*(?:import|export)\b[^'"]*['"]([^'"]+)['"]/.exec(text) ??
    /^\s*(?:const|let|var)\b.*\brequire\(['"]([^'"]+)['"]\)/.exec(text) ??
    /^\s*}\s*from\s+['"]([^'"]+)['"]/.exec(text) ??
    /^\s*from\s+([\w.]+)\s+import\b/.exec(text) ??
    /^\s*(?:import|use|require|#include)\s+["'<]?([\w./:@-]+)/.exec(text)
  return found?.[1]
}

export function isImport(text: string): boolean {
  return importIn(text) !== undefined
}

/** Text for people: what looks like code or a comment in it is neither. */
export const isProse = (file: FileBlock) => file.kind === 'documentation' || /\.(md|mdx|rst|txt|adoc)$/i.test(file.path)
