// From imports as written to files of the commit. What does not lead to exactly one file or folder is left out: an edge that is missing is better
// than one that is false.
import type { ImportStatement } from './find-imports.js'

/** Whether a path exists at the commit. Folders end with a slash. */
export interface CommitPaths {
  has: (path: string) => boolean
  /** The paths whose last parts are these. */
  endingWith: (suffix: string) => readonly string[]
  /** For Go, the folder that an import of a file of this folder leads to. */
  goImports: (folder: string) => (module: string) => string | undefined
}

/** A module of Go: its folder and its name, each with a slash at its end. */
export interface GoModule {
  folder: string
  name: string
}

/** Finds the file or folder that an import of a file leads to; undefined outside the repository. */
function resolverOf(from: string, grammar: string, paths: CommitPaths): (module: string) => string | undefined {
  switch (grammar) {
    case 'javascript':
      return (module) => resolveJavaScript(from, module, paths)
    case 'python':
      return (module) => resolvePython(from, module, paths)
    case 'go':
      return paths.goImports(folderOf(from))
    case 'rust':
      return (module) => resolveRust(from, module, paths)
    case 'java':
    case 'kotlin':
      return (module) => resolveJvm(module, paths)
    case 'c':
      return (module) => resolveInclude(from, module, paths)
    default:
      return () => undefined
  }
}

/** Each target once, with the first line that names it. */
export function resolveImports(
  from: string,
  grammar: string,
  statements: readonly ImportStatement[],
  paths: CommitPaths,
): [target: string, line: number][] {
  const targets = new Map<string, number>()
  const resolve = resolverOf(from, grammar, paths)
  for (const { module, line } of statements) {
    const target = resolve(module)
    if (target !== undefined && target !== from && !targets.has(target)) targets.set(target, line)
  }
  return [...targets]
}

export const folderOf = (path: string) => path.slice(0, path.lastIndexOf('/') + 1)

/** Undefined above the top. */
function join(folder: string, relative: string): string | undefined {
  const parts = folder.split('/').slice(0, -1)
  for (const part of relative.split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) return undefined
    } else if (part !== '.' && part !== '') parts.push(part)
  }
  return parts.join('/')
}

const first = (paths: CommitPaths, tried: (string | undefined)[]) =>
  tried.find((path) => path !== undefined && path !== '' && paths.has(path))

const written: Record<string, string[]> = {
  js: ['ts', 'tsx', 'd.ts'],
  jsx: ['tsx', 'd.ts'],
  mjs: ['mts', 'd.mts'],
  cjs: ['cts', 'd.cts'],
}
const implied = ['ts', 'tsx', 'd.ts', 'js', 'jsx']
const modulesOnly = /\.(?:[cm]?[jt]sx?|vue|svelte)$/

/** As the compiler does: the sources of what is built first, then the file as written, then implied endings, then the folder's index. */
function resolveJavaScript(from: string, module: string, paths: CommitPaths): string | undefined {
  if (!/^\.{1,2}(?:\/|$)/.test(module)) return undefined
  const base = join(folderOf(from), module)
  if (base === undefined) return undefined
  const folder = base === '' ? '' : `${base}/`
  const isFolder = module.endsWith('/') || /(?:^|\/)\.{1,2}$/.test(module)
  const file = isFolder ? undefined : resolveScript(base, paths)
  // What a folder's manifest names may be another file.
  return file ?? (paths.has(`${folder}package.json`) ? undefined : firstEnding(`${folder}index`, implied, paths))
}

function resolveScript(path: string, paths: CommitPaths): string | undefined {
  const [, stem, ending = ''] = /^(.*)\.([cm]?jsx?)$/.exec(path) ?? []
  const source = stem === undefined ? undefined : firstEnding(stem, written[ending] ?? [], paths)
  return source ?? (modulesOnly.test(path) && paths.has(path) ? path : firstEnding(path, implied, paths))
}

function firstEnding(stem: string, endings: readonly string[], paths: CommitPaths): string | undefined {
  const ending = endings.find((end) => paths.has(`${stem}.${end}`))
  return ending === undefined ? undefined : `${stem}.${ending}`
}

/** `a.b:c` is the module `a.b.c` if there is one, else `a.b`. An absolute name starts at the top or in `src`. */
function resolvePython(from: string, module: string, paths: CommitPaths): string | undefined {
  const [name = '', member] = module.split(':')
  const dots = /^\.*/.exec(name)![0].length
  const rest = name
    .slice(dots)
    .split('.')
    .filter((part) => part !== '')
  const up = dots === 0 ? undefined : join(folderOf(from), '../'.repeat(dots - 1))
  const roots = dots === 0 ? ['', 'src/'] : up === undefined ? [] : [up === '' ? '' : `${up}/`]
  const parts = member === undefined ? rest : [...rest, member]
  if (parts.length === 0) return undefined
  for (const root of roots) {
    const path = `${root}${parts.join('/')}`
    const found = first(paths, [`${path}/__init__.py`, `${path}.py`, `${path}/__init__.pyi`, `${path}.pyi`])
    if (found !== undefined) return found
  }
  return undefined
}

/** The modules come with the deepest folder first. Many files import the same packages, so each one is looked for once in a module. */
export function createGoImports(modules: readonly GoModule[], has: CommitPaths['has']): CommitPaths['goImports'] {
  const packages = new Map<GoModule | undefined, Map<string, string | undefined>>()
  return (folder) => {
    const own = modules.find((module) => folder.startsWith(module.folder))
    const known = packages.get(own) ?? new Map<string, string | undefined>()
    packages.set(own, known)
    return (module) => {
      if (!known.has(module)) known.set(module, resolveGo(own, module, modules, has))
      const target = known.get(module)
      return target === folder ? undefined : target
    }
  }
}

function resolveGo(
  own: GoModule | undefined,
  module: string,
  modules: readonly GoModule[],
  has: CommitPaths['has'],
): string | undefined {
  const wanted = `${module}/`
  const isWithin = ({ name }: GoModule) => wanted.startsWith(name)
  const of = own && isWithin(own) ? own : modules.find(isWithin)
  if (of === undefined) return undefined
  const target = `${of.folder}${wanted.slice(of.name.length)}`
  return has(target) ? target : undefined
}

/** `mod x` is a file beside or below; a path of `crate` or `super` is its longest part that is a file. */
function resolveRust(from: string, module: string, paths: CommitPaths): string | undefined {
  const isRoot = /(?:^|\/)(?:lib|main|mod)\.rs$/.test(from)
  const own = isRoot ? folderOf(from) : `${from.slice(0, -3)}/`
  if (module.startsWith('mod ')) {
    const child = `${own}${module.slice(4)}`
    return first(paths, [`${child}.rs`, `${child}/mod.rs`])
  }
  const [start, ...parts] = module.split('::')
  let folder = start === 'crate' ? crateFolder(from, paths) : start === 'self' ? own : parentModule(own)
  while (parts[0] === 'super' && folder !== undefined) {
    parts.shift()
    folder = parentModule(folder)
  }
  if (folder === undefined) return undefined
  for (let length = parts.length; length > 0; length--) {
    const path = `${folder}${parts.slice(0, length).join('/')}`
    const found = first(paths, [`${path}.rs`, `${path}/mod.rs`])
    if (found !== undefined) return found
  }
  return undefined
}

const parentModule = (folder: string) => (folder === '' ? undefined : folderOf(folder.slice(0, -1)))

function crateFolder(from: string, paths: CommitPaths): string | undefined {
  for (let folder = folderOf(from); ; folder = folderOf(folder.slice(0, -1))) {
    if (paths.has(`${folder}lib.rs`) || paths.has(`${folder}main.rs`)) return folder
    if (folder === '') return undefined
  }
}

/** `a.b.C`, or a member of it, if only one file has that name below its package's folders. */
function resolveJvm(module: string, paths: CommitPaths): string | undefined {
  const parts = module.split('.')
  for (let length = parts.length; length > 1; length--) {
    const path = parts.slice(0, length).join('/')
    const found = ['java', 'kt'].flatMap((end) => paths.endingWith(`${path}.${end}`))
    if (found.length > 0) return found.length === 1 ? found[0] : undefined
  }
  return undefined
}

/** Beside the file; else the only file of the commit with that path at its end. */
function resolveInclude(from: string, module: string, paths: CommitPaths): string | undefined {
  const beside = join(folderOf(from), module)
  if (beside !== undefined && paths.has(beside)) return beside
  const found = module.startsWith('.') ? [] : paths.endingWith(module)
  return found.length === 1 ? found[0] : undefined
}
