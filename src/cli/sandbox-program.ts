// Where commands find the built sandbox programs.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { HandoffError } from '../handoff/domain/errors.js'
import type { ProgramName } from '../handoff/sandbox/run-program.js'

export const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url))

export async function programText(name: ProgramName): Promise<string> {
  return readFile(new URL(`../../dist/sandbox-${name}.js`, import.meta.url), 'utf8').catch((error: unknown) => {
    throw new HandoffError('missing-setting', `dist/sandbox-${name}.js is not there.`, {
      next: 'Build it with npm run build.',
      cause: error,
    })
  })
}
