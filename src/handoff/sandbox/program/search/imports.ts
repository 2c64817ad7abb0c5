// Which files a file imports, by its import lines: no build settings are read, so the path of an import is matched with the ends of file paths.
import type { FileStructure } from './code-regions.js'
import type { SourceFile } from './corpus.js'

export interface ImportResolver {
  /** The files that the import lines most likely mean. */
  importsOf(file: SourceFile, structure: FileStructure): Set<SourceFile>
}

const limits = { lines: 300, homonyms: 200, imports: 100 }

/** A file that stands for its folder. */
const folderFile = /^(?:index|__init__|mod)$/

export const nameWithoutExtensions = (name: string) => /^\.?[^.]+/.exec(name)?.[0] ?? name

export function createImportResolver(files: readonly SourceFile[]): ImportResolver {
  const byName = new Map<string, { file: SourceFile; parts: string[] }[]>()
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

  const meant = (spec: string[], isRelative: boolean, from: readonly string[]): SourceFile | undefined => {
    let best: SourceFile | undefined
    let most = 0
    // The last part may be a name in the file.
    for (const end of [spec.length, spec.length - 1]) {
      const named = byName.get(spec[end - 1] ?? '') ?? []
      if (named.length > limits.homonyms) continue
      for (const { file, parts } of named) {
        const suffix = commonLength(end, parts.length, (index) => spec[end - 1 - index] === parts.at(-1 - index))
        const prefix = commonLength(from.length, parts.length - 1, (index) => from[index] === parts[index])
        const beside = prefix === from.length && parts.length - 1 === from.length
        if (suffix === 1 && !isRelative && !beside && parts.length > 1) continue
        const score = suffix + prefix / (1 + Math.max(from.length, parts.length))
        if (score > most) [best, most] = [file, score]
      }
      if (best) return best
    }
    return best
  }

  return {
    importsOf(file, structure) {
      const found = new Set<SourceFile>()
      const from = file.directory === '' ? [] : file.directory.split('/')
      for (const { parts, isRelative } of importPaths(structure)) {
        const target = meant(parts, isRelative, from)
        if (target && target !== file) found.add(target)
        if (found.size === limits.imports) break
      }
      return found
    },
  }
}

function commonLength(a: number, b: number, same: (index: number) => boolean): number {
  let count = 0
  while (count < a && count < b && same(count)) count++
  return count
}

/** The paths in import lines: `'../a/b.js'`, `a.b.c`, `crate::a::b`, `"a/b.h"`. `from a.b import c` is a.b and a.b.c. */
function* importPaths({
  text,
  starts,
  imports,
  lines,
}: FileStructure): Generator<{ parts: string[]; isRelative: boolean }> {
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
    const module = /^[ \t]*from[ \t]+([\w.]{1,200})[ \t]+import/.exec(shown)?.[1]
    if (module) {
      base = module
      yield pathParts(module, /\./)
    }
    const rest = module ? shown.slice(shown.indexOf('import') + 6) : shown
    for (const [name] of rest.matchAll(/[\w.:]{2,200}/g)) {
      if (/^(?:import|from|as|use|pub|mod|package|using|static|require|include)$/.test(name)) continue
      yield pathParts(base === '' || /[.:]/.test(name) ? name : `${base}.${name}`, /\.|::/)
    }
    if (!/[({,\\][ \t]*\r?\n?$/.test(shown)) base = ''
  }
}

function pathParts(path: string, separator: RegExp): { parts: string[]; isRelative: boolean } {
  const isRelative = /^(?:\.|crate::|super::|self::)/.test(path)
  const parts = path
    .split(separator)
    .filter((part) => part !== '' && part !== '.' && part !== '..' && !/^(?:crate|super|self)$/.test(part))
  return { parts, isRelative }
}
