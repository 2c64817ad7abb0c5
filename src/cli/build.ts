// Builds everything under dist/, and the documents that are generated. The same sources give the same bytes on every machine; CI rebuilds and compares.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { buildAction } from '../build/action.js'
import { writeDocuments } from '../build/generate-docs.js'
import { buildPage } from '../build/page.js'
import type { ProgramName } from '../handoff/sandbox/run-program.js'
import { runCommand } from './command-line.js'
import { repositoryRoot as root } from './sandbox-program.js'

const dist = join(root, 'dist')

/** Bundles a sandbox program into one file of plain JavaScript for the template's Node. */
/** A command has 128 KiB, and other text than the packed program. */
const mostPacked = 100_000

async function buildSandboxProgram(folder: string, name: ProgramName): Promise<void> {
  const outfile = join(folder, `sandbox-${name}.js`)
  const result = await build({
    entryPoints: [join(root, 'src/handoff/sandbox/program', `${name}-entry.ts`)],
    outfile,
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'warning',
  })
  const packed = gzipSync(result.outputFiles[0]!.contents, { level: 9 }).toString('base64').length
  if (packed > mostPacked)
    throw new Error(
      `dist/sandbox-${name}.js has ${packed} characters when packed; a command has room for ${mostPacked}.`,
    )
  await writeFile(outfile, result.outputFiles[0]!.contents)
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
