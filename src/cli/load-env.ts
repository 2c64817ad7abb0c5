// The environment of a command: what the process was given, and `.env` beside package.json for what it was not.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { HandoffError, parseDriveSettings, type Settings } from '../handoff/index.js'
import { repositoryRoot } from './sandbox-program.js'

export function readEnvironment(): NodeJS.ProcessEnv {
  const file = join(repositoryRoot, '.env')
  if (existsSync(file)) process.loadEnvFile(file)
  return process.env
}

/** For commands that read drive9 and nothing else. */
export function readDriveSettings(): Settings['drive'] {
  const settings = parseDriveSettings(readEnvironment())
  if (settings.apiKey !== '') return settings
  throw new HandoffError('missing-setting', 'This setting is missing: DRIVE9_API_KEY.', {
    next: 'npm run setup asks for it and writes .env.',
  })
}
