// Which key and which server: flags, then the environment, then the active context of `~/.drive9/config`. One trap is kept on purpose: the
// active context's server beats DRIVE9_SERVER, and a DRIVE9_VAULT_TOKEN beats the API key and then opens nothing.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Exit } from './parse-arguments.js'

export interface Credentials {
  server: string
  /** Empty when there is none. */
  key: string
}

interface Context {
  type: 'owner' | 'fs_scoped' | 'delegated'
  server?: string
  api_key?: string
  expires_at?: string
}

interface Config {
  server?: string
  current_context?: string
  contexts?: Record<string, Context>
}

type Environment = Record<string, string | undefined>

const configFile = (environment: Environment) => join(environment['HOME'] ?? '/', '.drive9', 'config')

function readConfig(environment: Environment): Config {
  const file = configFile(environment)
  if (!existsSync(file)) return {}
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Config
  } catch {
    return {}
  }
}

export function findCredentials(
  environment: Environment,
  flags: { server?: string | undefined; key?: string | undefined } = {},
): Credentials {
  const config = readConfig(environment)
  const context = config.contexts?.[config.current_context ?? '']
  const read = (name: string) => environment[name]?.trim() || undefined
  const key = flags.key ?? read('DRIVE9_VAULT_TOKEN') ?? read('DRIVE9_API_KEY') ?? context?.api_key ?? ''
  const server = flags.server ?? context?.server ?? read('DRIVE9_SERVER') ?? config.server ?? 'https://api.drive9.ai'
  return { key, server: server.replace(/\/+$/, '') }
}

/** For everything but a mount: without a key nothing can be asked. */
export function needCredentials(environment: Environment): Credentials {
  const found = findCredentials(environment)
  if (found.key === '') throw new Exit(1, 'no API key: set DRIVE9_API_KEY or run drive9 ctx add')
  return found
}
