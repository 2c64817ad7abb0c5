// Builds everything under dist/, and the documents that are generated. The same sources give the same bytes on every machine; CI rebuilds and compares.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { writeDocuments } from './documents.js'

const root = join(import.meta.dirname, '..', '..')
const dist = join(root, 'dist')

/** The program for inside a sandbox: plain JavaScript for the template's Node, nothing beside it. */
async function buildGuest(): Promise<void> {
  const result = await build({
    entryPoints: [join(root, 'src/handoff/bench/guest/main.ts')],
    outfile: join(dist, 'guest.js'),
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
  if (bytes > 100_000) throw new Error(`dist/guest.js has ${bytes} bytes; a command has room for 100,000.`)
}

await rm(dist, { recursive: true, force: true })
await mkdir(dist, { recursive: true })
await Promise.all([buildGuest(), writeDocuments(root)])
