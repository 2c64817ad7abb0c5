// `drive9 token issue|revoke`: tokens that open some prefixes for a time. Secrets never stand on the command line.
import { readFileSync } from 'node:fs'
import { openRemote } from './api-client.js'
import { needCredentials, readConfig, writeConfig } from './credentials.js'
import { Exit, parseArguments, parseDuration } from './parse-arguments.js'

type Environment = Record<string, string | undefined>

const usage = `usage: drive9 token issue [name] --ttl <duration> --allow <prefix:ops> [--subject S] [--json|--print|--token-only]
       drive9 token revoke <name> | - | --api-key-file <path>`

export async function tokenCommand(words: string[], environment: Environment): Promise<number> {
  const [verb, ...rest] = words
  if (verb === 'issue') return issue(rest, environment)
  if (verb === 'revoke') return revoke(rest, environment)
  throw new Exit(1, usage)
}

async function issue(words: string[], environment: Environment): Promise<number> {
  const { name, given } = readIssue(words)
  const ttl = parseDuration(given.text('ttl') ?? '')
  if (ttl === undefined) throw new Exit(1, '--ttl is required')
  if (ttl < 1000) throw new Exit(1, '--ttl must be at least 1s')
  const scopes = given.list('allow').map(readAllow)
  if (scopes.length === 0) throw new Exit(1, 'at least one --allow is required')
  const credentials = needCredentials(environment)
  const remote = openRemote(credentials)
  const subject = given.text('subject') ?? ''
  const issued = await remote
    .post('/v1/tokens', { subject, ttl_seconds: Math.floor(ttl / 1000), scopes })
    .finally(() => remote.close())
  const token = String(issued['token'])
  if (name !== undefined) saveContext(environment, name, token, credentials.server, String(issued['expires_at']))
  if (given.isSet('json')) process.stdout.write(`${JSON.stringify(issued, null, 2)}\n`)
  else if (given.isSet('print') || given.isSet('token-only')) process.stdout.write(`${token}\n`)
  else process.stdout.write(`token=${token}\nexpires_at=${String(issued['expires_at'])}\n`)
  return 0
}

/** The name may stand before the flags or after them. */
function readIssue(words: string[]) {
  const flags = {
    ttl: 'text',
    allow: 'list',
    subject: 'text',
    json: 'switch',
    print: 'switch',
    'token-only': 'switch',
  } as const
  const first = words[0] !== undefined && !words[0].startsWith('-') ? words[0] : undefined
  const given = parseArguments(first === undefined ? words : words.slice(1), flags, `${usage}\n`)
  return { name: first ?? given.rest[0], given }
}

function readAllow(text: string): { prefix: string; ops: string[] } {
  const colon = text.lastIndexOf(':')
  if (colon < 1) throw new Exit(1, `invalid --allow "${text}": want <prefix>:<ops>`)
  const prefix = text.slice(0, colon).replace(/^:/, '')
  return { prefix, ops: text.slice(colon + 1).split(',') }
}

function saveContext(environment: Environment, name: string, key: string, server: string, expires: string): void {
  const config = readConfig(environment)
  if (config.contexts?.[name]) throw new Exit(1, `context "${name}" already exists`)
  const context = { type: 'fs_scoped' as const, server, api_key: key, expires_at: expires }
  writeConfig(environment, { ...config, contexts: { ...config.contexts, [name]: context } })
}

async function revoke(words: string[], environment: Environment): Promise<number> {
  const given = parseArguments(words[0] === '-' ? [] : words, { 'api-key-file': 'text' }, `${usage}\n`)
  const [name] = given.rest
  const file = given.text('api-key-file')
  const secret = words[0] === '-' ? readFileSync(0, 'utf8') : file ? readFileSync(file, 'utf8') : undefined
  if (secret === undefined && name === undefined) throw new Exit(1, usage)
  const config = readConfig(environment)
  const key = secret?.trim() ?? config.contexts?.[name ?? '']?.api_key
  if (key === undefined) throw new Exit(1, `fs_scoped token context "${name}" not found`)
  const remote = openRemote(needCredentials(environment))
  await remote.post('/v1/tokens/revoke', { api_key: key }).finally(() => remote.close())
  if (name !== undefined && secret === undefined) {
    const { [name]: _, ...others } = config.contexts ?? {}
    writeConfig(environment, { ...config, contexts: others })
  }
  process.stdout.write('token revoked\n')
  return 0
}
