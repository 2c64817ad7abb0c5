// Which files a file imports, by its import lines: no build settings are read, so the path of an import is matched with the ends of file paths.
import type { FileStructure } from './code-regions.js'
import type { SourceFile } from './corpus.js'

export interface ImportResolver {
  /** The files that the import lines most likely mean. */
  importsOf(file: SourceFile, structure: FileStructure): Set<SourceFile>
}

interface NamedFile {
  file: SourceFile
  /** The folders and the bare name. */
  parts: string[]
}

const limits = { lines: 300, homonyms: 200, imports: 100 }

/** A file that stands for its folder. */
const folderFile = /^(?:index|__init__|mod)$/

export const nameWithoutExtensions = (name: string) => /^\.?[^.]+/.exec(name)?.[0] ?? name

export function createImportResolver(files: readonly SourceFile[]): ImportResolver {
  const byName = new Map<string, NamedFile[]>()
  for (const file of files) {
    if (file.kind === 'documentation') continue
    const bare = nameWithoutExtensions(file.name)
    const parts = file.directory === '' ? [] : file.directory.split('/')
    if (!folderFile.test(bare)) parts.push(bare)
    const name = parts.at(-1) ?? ''
    const known = byName.get(name)
    if (known) known.push({ file, parts })
    else byName.set(name, [{ file, parts }])
  }

  const meant = ({ parts, isRelative }: ImportPath, from: readonly string[]): SourceFile | undefined => {
    // The last part may be a name in the file.
    for (const spec of [parts, parts.slice(0, -1)]) {
      const named = byName.get(spec.at(-1) ?? '') ?? []
      const best = named.length > limits.homonyms ? undefined : bestMatch(named, spec, isRelative, from)
      if (best) return best
    }
    return undefined
  }

  return {
    importsOf(file, structure) {
      const found = new Set<SourceFile>()
      const from = file.directory === '' ? [] : file.directory.split('/')
      for (const path of importPaths(structure)) {
        const target = meant(path, from)
        if (target && target !== file) found.add(target)
        if (found.size === limits.imports) break
      }
      return found
    },
  }
}

/** The file that shares the longest end with the path; of several the nearest. */
function bestMatch(
  named: readonly NamedFile[],
  spec: readonly string[],
  isRelative: boolean,
  from: readonly string[],
): SourceFile | undefined {
  let best: SourceFile | undefined
  let most = 0
  for (const { file, parts } of named) {
    const suffix = commonLength(spec.length, parts.length, (index) => spec.at(-1 - index) === parts.at(-1 - index))
    const prefix = commonLength(from.length, parts.length - 1, (index) => from[index] === parts[index])
    const isBeside = prefix === from.length && parts.length - 1 === from.length
    // One word alone is mostly a library.
    if (suffix === 1 && !isRelative && !isBeside && parts.length > 1) continue
    const score = suffix + prefix / (1 + Math.max(from.length, parts.length))
    if (score > most) [best, most] = [file, score]
  }
  return best
}

function commonLength(a: number, b: number, same: (index: number) => boolean): number {
  let count = 0
  while (count < a && count < b && same(count)) count++
  return count
}

interface ImportPath {
  parts: string[]
  isRelative: boolean
}

/** The paths in import lines: `'../a/b.js'`, `a.b.c`, `crate::a::b`, `"a/b.h"`. `from a.b import c` is a.b and a.b.c. */
function* importPaths({ text, starts, imports, lines }: FileStructure): Generator<ImportPath> {
  let seen = 0
  let base = ''
  for (let line = 1; line <= lines && seen < limits.lines; line++) {
    if (imports[line] !== 1) continue
    seen++
    const shown = text.slice(starts[line - 1], starts[line])
    const quoted = /["'<]([\w.@~/-]{1,200})["'>]/.exec(shown)?.[1]
    if (quoted) {
      yield pathParts(quoted.replace(/(?<=[^./])\.\w{1,5}$/, ''), /[/]/)
      continue
    }
    base = /^[ \t]*from[ \t]+([\w.]{1,200})[ \t]+import/.exec(shown)?.[1] ?? base
    yield* namedPaths(shown, base)
    if (!/[({,\\][ \t]*\r?\n?$/.test(shown)) base = ''
  }
}

const importWord = /^(?:import|from|as|use|pub|mod|package|using|static|require|include)$/

/** Paths without quotes; in Python a name alone belongs to the module of its line. */
function* namedPaths(shown: string, base: string): Generator<ImportPath> {
  for (const [name] of shown.matchAll(/[\w.:]{2,200}/g)) {
    if (importWord.test(name)) continue
    const isInModule = base !== '' && name !== base && !/[.:]/.test(name)
    yield pathParts(isInModule ? `${base}.${name}` : name, /\.|::/)
  }
}

function pathParts(path: string, separator: RegExp): ImportPath {
  const isRelative = /^(?:\.|crate::|super::|self::)/.test(path)
  const parts = path
    .split(separator)
    .filter((part) => part !== '' && part !== '.' && part !== '..' && !/^(?:crate|super|self)$/.test(part))
  return { parts, isRelative }
}
