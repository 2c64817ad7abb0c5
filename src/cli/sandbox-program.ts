// Where commands find the built program for inside a sandbox.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { HandoffError } from '../handoff/domain/errors.js'

export const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url))

export async function programText(walk: 'summarise' | 'ask'): Promise<string> {
  return readFile(new URL(`../../dist/guest-${walk}.js`, import.meta.url), 'utf8').catch((error: unknown) => {
    throw new HandoffError('missing-setting', `dist/guest-${walk}.js is not there.`, {
      next: 'Build it with npm run build.',
      cause: error,
    })
  })
}
