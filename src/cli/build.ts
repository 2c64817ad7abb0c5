// Builds everything under dist/, and the documents that are generated. The same sources give the same bytes on every machine; CI rebuilds and compares.
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { buildAction } from '../build/action.js'
import { writeDocuments } from '../build/generate-docs.js'
import { buildPage } from '../build/page.js'
import type { ProgramName } from '../handoff/sandbox/run-program.js'
import { runCommand } from './command-line.js'
import { repositoryRoot as root } from './sandbox-program.js'

const dist = join(root, 'dist')

/** Bundles a sandbox program into one file of plain JavaScript for the template's Node. */
async function buildSandboxProgram(folder: string, name: ProgramName): Promise<void> {
  const result = await build({
    entryPoints: [join(root, 'src/handoff/sandbox/program', `${name}-entry.ts`)],
    outfile: join(folder, `sandbox-${name}.js`),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    metafile: true,
    logLevel: 'warning',
  })
  const bytes = Object.values(result.metafile.outputs)[0]?.bytes ?? 0
  if (bytes > 100_000) throw new Error(`dist/sandbox-${name}.js has ${bytes} bytes; a command has room for 100,000.`)
}

const command = {
  name: 'build',
  description:
    'Builds dist/ and the generated parts of the documents. The same sources give the same bytes on every machine.',
  options: {},
  example: 'build',
  cost: 'nothing; seconds of this machine.',
} as const

/** The new files are built apart and put in place at the end, so that a failed build leaves the old ones whole. */
async function buildAll(): Promise<void> {
  const fresh = join(root, 'build', `dist-${process.pid}`)
  try {
    await mkdir(fresh, { recursive: true })
    await Promise.all([
      buildSandboxProgram(fresh, 'survey'),
      buildSandboxProgram(fresh, 'search'),
      buildAction(root, fresh),
      buildPage(root, join(fresh, 'web')),
      writeDocuments(root),
    ])
    await rm(dist, { recursive: true, force: true })
    await rename(fresh, dist)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

await runCommand(command, buildAll)
