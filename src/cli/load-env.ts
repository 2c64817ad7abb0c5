// The environment of a command: what the process was given, and `.env` beside package.json for what it was not.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './sandbox-program.js'

export function readEnvironment(): NodeJS.ProcessEnv {
  const file = join(repositoryRoot, '.env')
  if (existsSync(file)) process.loadEnvFile(file)
  return process.env
}
