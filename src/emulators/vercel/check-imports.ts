// Checks that all imports of the functions resolve. A broken dynamic import would otherwise fail only at the first request that needs it.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type BuildFailure, build, type Message } from 'esbuild'
import { HandoffError } from '../../handoff/domain/errors.js'

const folder = 'api'
const maximumErrors = 3

/** Follows every import, and stops at the first that leads nowhere or to what cannot be read. Keeps nothing of it. */
export async function checkFunctions(root: string): Promise<void> {
  const names = (await readdir(join(root, folder))).filter((name) => name.endsWith('.ts'))
  const checked = build({
    absWorkingDir: root,
    entryPoints: names.map((name) => `${folder}/${name}`),
    outdir: root,
    write: false,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    logLevel: 'silent',
  })
  await checked.catch((failure: BuildFailure) => {
    throw new HandoffError('invalid-input', failure.errors.slice(0, maximumErrors).map(describeError).join('\n'))
  })
}

const describeError = ({ location, text }: Message) => (location ? `${location.file}:${location.line}: ${text}` : text)
