// The import graph beside what compilers say: no edge is false. An edge that is missing is allowed where a rule says so.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import { findImports } from '../../../../../src/handoff/sandbox/program/survey/find-imports.js'
import { surveyOf } from './survey-repository.js'

const execute = promisify(execFile)
const project = fileURLToPath(new URL('../../../../../', import.meta.url))

/** `from → to`, in order. */
async function edgesOf(files: Record<string, string>): Promise<string[]> {
  const { outline } = await surveyOf(files)
  const imports = Object.entries(outline.imports ?? {})
  return imports.flatMap(([from, targets]) => targets.map(([to]) => `${from} → ${to}`)).sort()
}

async function inFolder<T>(files: Record<string, string>, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'imports-')))
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const compilerOptions = {
  noEmit: true,
  allowJs: true,
  module: 'esnext',
  moduleResolution: 'bundler',
  target: 'esnext',
  jsx: 'preserve',
  noLib: true,
  noCheck: true,
  types: [],
  allowImportingTsExtensions: true,
}

/** What TypeScript's compiler resolves to a file of the folder. */
function compilerEdges(files: Record<string, string>): Promise<string[]> {
  return inFolder(files, async (folder) => {
    const modules = Object.keys(files).filter((path) => /\.[cm]?[jt]sx?$/.test(path))
    const config = join(folder, 'tsconfig.compare.json')
    await writeFile(config, JSON.stringify({ compilerOptions, files: modules }))
    const arguments_ = [join(project, 'node_modules/typescript/bin/tsc'), '-p', config, '--traceResolution']
    const run = execute(process.execPath, arguments_, { maxBuffer: 1e9 })
    const { stdout } = await run.catch((error: { stdout: string }) => error)
    const edges = new Set<string>()
    let asked: string[] = []
    for (const line of stdout.split('\n')) {
      asked = /^======== Resolving module '(.*)' from '(.*)'\. ========$/.exec(line)?.slice(1) ?? asked
      const [, module, to = ''] =
        /^======== Module name '(.*)' was successfully resolved to '([^']*)'.*========$/.exec(line) ?? []
      const [name, from = ''] = asked
      if (module === undefined || module !== name || !to.startsWith(`${folder}/`) || from === to) continue
      edges.add(`${from.slice(folder.length + 1)} → ${to.slice(folder.length + 1)}`)
    }
    return [...edges].sort()
  })
}

async function readSources(...folders: string[]): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const folder of folders) {
    const entries = await readdir(join(project, folder), { recursive: true, withFileTypes: true })
    for (const entry of entries.filter((one) => one.isFile() && /\.(ts|mjs)$/.test(one.name))) {
      const path = join(entry.parentPath, entry.name)
      files[path.slice(project.length)] = await readFile(path, 'utf8')
    }
  }
  return files
}

const tricky = {
  'a.ts': [
    '// words about an import, without any sign that ends it',
    "import one, { two as deux, type Three } from './b.js'",
    "import * as all from './c'",
    "import type { T } from './types'",
    "import './side.css'",
    "import './effect.mjs'",
    "export * from './d/index.js'",
    'export {',
    '  // a comment between the names',
    '  x /* and another */,',
    "} from './e'",
    "const later = () => import('./f.tsx')",
    "const typed: import('./g').G = null",
    "// import { no } from './no'",
    "/* import { no } from './no'",
    " import { no } from './no' */",
    "const text = `import { no } from './no' ${`${import('./h')}`} export * from './no'`",
    'const quoted = "import { no } from \'./no\'"',
    "const expression = /import { no } from '.\\/no'`/",
    'const half = 4 / 2 // divided /',
    "const afterRegExp = import('./i')",
    "export const from = './no'",
    "require('./no')",
    "import legacy = require('./j')",
    "import self from './a'",
    "import up from '../outside'",
    "import folder from './folder'",
    "import elsewhere from 'elsewhere'",
  ].join('\n'),
  'b.ts': '',
  'c.ts': '',
  'c/index.ts': '',
  'types.d.ts': 'export type T = 1',
  'side.css': '',
  'effect.mts': '',
  'd/index.ts': "import up from '..'\nimport beside from './x'\nimport above from '../b'\n",
  'd/x.jsx': "const a = <p>don't import</p>\nimport('./y')\n",
  'd/y.cjs': "const b = require('../b')\nmodule.exports = { c: require( '../c' ) }\n",
  'e.ts': '',
  'f.tsx': '',
  'g.ts': '',
  'h.ts': '',
  'i.ts': '',
  'j.ts': '',
  'no.ts': '',
  'index.ts': '',
  'folder/index.ts': '',
}

describe('TypeScript and JavaScript', () => {
  it('has every edge of this project as the compiler has it, and no other', async () => {
    const files = await readSources('src', 'web', 'api')
    const [ours, theirs] = await Promise.all([edgesOf(files), compilerEdges(files)])
    expect(theirs.length).toBeGreaterThan(500)
    expect(ours).toEqual(theirs)
  })

  it('takes no comment, text or expression for an import', async () => {
    const [ours, theirs] = await Promise.all([edgesOf(tricky), compilerEdges(tricky)])
    expect(ours.filter((edge) => !theirs.includes(edge))).toEqual([])
    expect(theirs.filter((edge) => !ours.includes(edge))).toEqual([])
    expect(ours.join('\n')).not.toContain('no.ts')
  })
})

const python = {
  'src/boat/__init__.py':
    '"""Docs.\n\nimport boat.no\n"""\nfrom .hull import Hull, patch as mend\nfrom . import oars, sails\n',
  'src/boat/hull.py':
    "import os, boat.oars as o\nfrom boat.sails import (\n    Main,  # from boat import no\n    jib,\n)\ntext = '''\nfrom boat import no\n'''\n",
  'src/boat/oars/__init__.py': 'from ..hull import \\\n    Hull\nfrom .blade import Blade\nfrom ... import nothing\n',
  'src/boat/oars/blade.py': 'try:\n    from boat import hull\nexcept ImportError:\n    hull = "import boat.no"\n',
  'src/boat/sails.py':
    'x = 1  # import boat.no\ny = \'from boat import no\'\ns = """\\""" x"""\nif x:\n    import boat.hull\n',
  'src/boat/no.py': '',
  'tests/test_boat.py': 'import boat\nfrom boat import Hull\nfrom boat.oars.blade import *\nimport missing.hull\n',
}

/** The statements by Python's own parser, resolved by its rules for packages at the top and in `src`. */
const reference = `
import ast, os, sys
found = set()
def file_of(parts):
    for root in ('', 'src/'):
        path = root + '/'.join(parts)
        for name in (path + '/__init__.py', path + '.py'):
            if os.path.isfile(name): return name
for folder, _, names in os.walk('.'):
    for name in names:
        if not name.endswith('.py'): continue
        path = os.path.relpath(os.path.join(folder, name), '.')
        package = [part for part in path.split('/')[:-1] if part != 'src']
        for node in ast.walk(ast.parse(open(path).read())):
            wanted = []
            if isinstance(node, ast.Import): wanted = [alias.name.split('.') for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                if node.level > len(package): continue
                base = package[:len(package) - node.level + 1] if node.level else []
                base = base + (node.module.split('.') if node.module else [])
                wanted = [base] + [base + [alias.name] for alias in node.names]
            for parts in wanted:
                target = file_of(parts) if parts else None
                if target and target != path: found.add(path + ' → ' + target)
print('\\n'.join(sorted(found)))
`

test("Python's own parser finds every edge that is found here", async () => {
  const ours = await edgesOf(python)
  const theirs = await inFolder(python, async (cwd) => {
    const { stdout } = await execute('python3', ['-c', reference], { cwd })
    return stdout.trim().split('\n')
  })
  expect(ours.filter((edge) => !theirs.includes(edge))).toEqual([])
  // `from . import x` also runs the package itself, which is no edge here.
  expect(theirs.filter((edge) => !ours.includes(edge) && !edge.endsWith('boat/__init__.py'))).toEqual([])
  expect(ours.length).toBeGreaterThan(11)
})

describe('other languages', () => {
  it('leads from Go imports to folders of the module', async () => {
    const edges = await edgesOf({
      'go.mod': 'module example.com/boat\n',
      'main.go':
        'package main\n\nimport (\n\t"fmt"\n\thull "example.com/boat/hull"\n\t// "example.com/boat/no"\n)\n\nimport "example.com/boat/oars"\nvar text = `\nimport "example.com/boat/no"\n`\n',
      'hull/hull.go': 'package hull\n\nimport "example.com/boat"\n',
      'oars/oars.go': 'package oars\nimport "example.com/other"\n',
      'no/no.go': 'package no\n',
      'tools/go.mod': 'module example.com/tools\n',
      'tools/main.go': 'package main\nimport "example.com/boat/hull"\nimport "example.com/tools/saw"\n',
      'tools/saw/saw.go': 'package saw\n',
    })
    expect(edges).toEqual(['main.go → hull/', 'main.go → oars/', 'tools/main.go → hull/', 'tools/main.go → tools/saw/'])
  })

  it('leads from Rust modules and paths to files', async () => {
    const edges = await edgesOf({
      'src/lib.rs': 'mod hull;\npub mod oars;\n// mod no;\nuse crate::hull::Hull;\n',
      'src/hull.rs': 'use super::oars::blade::Blade;\nuse std::fmt;\n/* use crate::no; */\nmod inner { }\n',
      'src/oars/mod.rs': 'pub(crate) mod blade;\nuse self::blade::Blade;\n',
      'src/oars/blade.rs': 'use crate::hull;\nuse super::super::no::X;\n',
      'src/no.rs': '',
    })
    expect(edges).toEqual([
      'src/hull.rs → src/oars/blade.rs',
      'src/lib.rs → src/hull.rs',
      'src/lib.rs → src/oars/mod.rs',
      'src/oars/blade.rs → src/hull.rs',
      'src/oars/blade.rs → src/no.rs',
      'src/oars/mod.rs → src/oars/blade.rs',
    ])
  })

  it('leads from Java, Kotlin and C to the only file of that name', async () => {
    const edges = await edgesOf({
      'app/src/main/java/org/boat/Main.java':
        'package org.boat;\nimport org.boat.hull.Hull;\nimport static org.boat.hull.Oar.row;\nimport java.util.List;\nimport org.boat.Twice;\n',
      'app/src/main/java/org/boat/hull/Hull.java': '',
      'app/src/main/kotlin/org/boat/hull/Oar.kt': 'import org.boat.hull.Hull\n',
      'app/src/main/java/org/boat/Twice.java': '',
      'lib/src/main/java/org/boat/Twice.java': '',
      'c/main.c': '#include "hull.h"\n#include <stdio.h>\n#include "util/rope.h"\n// #include "no.h"\n',
      'c/hull.h': '',
      'c/include/util/rope.h': '',
      'c/no.h': '',
    })
    expect(edges).toEqual([
      'app/src/main/java/org/boat/Main.java → app/src/main/java/org/boat/hull/Hull.java',
      'app/src/main/java/org/boat/Main.java → app/src/main/kotlin/org/boat/hull/Oar.kt',
      'app/src/main/kotlin/org/boat/hull/Oar.kt → app/src/main/java/org/boat/hull/Hull.java',
      'c/main.c → c/hull.h',
      'c/main.c → c/include/util/rope.h',
    ])
  })
})

test('an import has the line that names it', () => {
  const text = "/* one\ntwo */\nimport a from './a'\n\nexport {\n  b,\n} from './b'\n"
  expect(findImports(text, 'javascript', 'x.ts')).toEqual([
    { module: './a', line: 3 },
    { module: './b', line: 5 },
  ])
})

test.each([
  ['javascript', 'x.ts', 'import '],
  ['javascript', 'x.ts', 'import{'],
  ['javascript', 'x.js', '=/[a'],
  ['javascript', 'x.js', '${`'],
  ['javascript', 'x.ts', 'import/*'],
  ['python', 'x.py', 'from a import (\n'],
  ['python', 'x.py', 'import a\\\n'],
  ['python', 'x.py', '\\"""'],
  ['go', 'x.go', 'import (\n'],
  ['rust', 'x.rs', 'use crate::a\n'],
])('a million characters of %s in %s that repeat %j are read once', (grammar, path, part) => {
  const text = part.repeat(1_000_000 / part.length)
  expect(findImports(text, grammar, path).length).toBeLessThanOrEqual(1_000)
})
