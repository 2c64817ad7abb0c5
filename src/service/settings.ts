// The settings of the HTTP service. Imports almost nothing, so that rejected requests and health checks stay cheap.

import { isSecure, parseHttpUrl } from '../handoff/util/http-url.js'
import { withoutTrailingSlashes } from '../handoff/util/text.js'

export type Environment = Record<string, string | undefined>

interface Bearer {
  name: string
  /** The SHA-256 of the token. */
  sha256: Buffer
  repositories: Pattern[]
  /** The App may write its answers as comments. */
  mayComment: boolean
}

/** `*`, `owner/*` or `owner/name`, in lower case, with the repository id if one is pinned. */
export interface Pattern {
  name: string
  id?: string | undefined
}

export interface ServiceSettings {
  bearers: Bearer[]
  /** Jobs of these repositories may ask, each about its own. */
  oidc?: { issuer: string; audience: string; repositories: Pattern[] }
  /** People sign in with GitHub, and may ask about those of these repositories that they may read. */
  signIn?: { clientId: string; clientSecret: string; sessionSecret: string; repositories: Pattern[] } | undefined
  webhookSecrets: string[]
  /** Of E2B's webhook. */
  e2bWebhookSecrets: string[]
  /** Where jobs wait. */
  queue: 'vercel' | 'memory'
  /** The address of the queues' API, where it is not Vercel's own. */
  queueUrl?: string
  github: { apiUrl: string; serverUrl: string; token?: string | undefined; app?: { id: string; privateKey: string } }
  askPermission: 'read' | 'triage' | 'write' | 'maintain' | 'admin'
  models: string[]
  limits: {
    sandboxes: number
    waiting: number
    perCaller: number
    tokensPerDay?: number | undefined
    costPerDay?: number | undefined
  }
  corsOrigins: string[]
  /** Names, besides addresses and `localhost`, under which MCP is served outside Vercel. */
  hosts: string[]
  /** Names of invalid settings, without their values. */
  wrong: string[]
}

/** Settings without which the service cannot answer. The first four are product settings. */
const requiredSettings = ['E2B_API_KEY', 'DRIVE9_API_KEY', 'LLM_API_KEY', 'LLM_MODEL'] as const

/** Product settings, which the product parses and explains. This file only checks whether they are valid. */
export const productAddresses = ['LLM_BASE_URL', 'DRIVE9_SERVER', 'E2B_API_URL', 'E2B_SANDBOX_URL']
const productNumbers = ['LLM_PRICE_INPUT', 'LLM_PRICE_OUTPUT', 'HANDOFF_MAX_COST']
export const productCounts = [
  'LLM_CONTEXT_TOKENS',
  'LLM_MAX_OUTPUT_TOKENS',
  'LLM_CONCURRENCY',
  'LLM_FIRST_TOKEN_SECONDS',
  'HANDOFF_MAX_INPUT_TOKENS',
  'HANDOFF_DEADLINE_SECONDS',
]

const isCount = (value: number) => Number.isSafeInteger(value) && value > 0

export function missingNames(environment: Environment): string[] {
  const missing: string[] = requiredSettings.filter((name) => text(environment, name) === undefined)
  const callerSettings = [
    'HANDOFF_BEARERS',
    'HANDOFF_OIDC_AUDIENCE',
    'HANDOFF_WEBHOOK_SECRETS',
    'HANDOFF_APP_CLIENT_ID',
  ]
  if (callerSettings.every((name) => text(environment, name) === undefined)) missing.push('HANDOFF_BEARERS')
  return missing
}

export function readServiceSettings(environment: Environment): ServiceSettings {
  const get = (name: string) => text(environment, name)
  const invalid = invalidProductSettings(get)
  const number = (name: string) => readNumber(get(name), name, invalid)
  const audience = get('HANDOFF_OIDC_AUDIENCE')
  const serverUrl = address(get('GITHUB_SERVER_URL') ?? 'https://github.com', 'GITHUB_SERVER_URL', invalid)
  const usualIssuer = 'https://token.actions.githubusercontent.com'
  const issuer = secureAddress(get('HANDOFF_OIDC_ISSUER') ?? usualIssuer, 'HANDOFF_OIDC_ISSUER', invalid)
  const jobs = readJobs(audience, get('HANDOFF_OIDC_REPOSITORIES'), invalid)
  const signIn = readSignIn(get, invalid)
  const tokens = number('HANDOFF_CALLER_TOKENS')
  const cost = number('HANDOFF_CALLER_COST')
  return {
    bearers: readBearers(get('HANDOFF_BEARERS') ?? '', invalid),
    ...(audience === undefined || issuer === undefined ? {} : { oidc: { audience, issuer, repositories: jobs } }),
    signIn,
    webhookSecrets: list(get('HANDOFF_WEBHOOK_SECRETS')),
    e2bWebhookSecrets: list(get('HANDOFF_E2B_WEBHOOK_SECRETS')),
    queue: get('VERCEL') === undefined ? 'memory' : 'vercel',
    ...(get('HANDOFF_QUEUE_URL') === undefined
      ? {}
      : { queueUrl: address(get('HANDOFF_QUEUE_URL')!, 'HANDOFF_QUEUE_URL', invalid) }),
    github: readGitHub(get, serverUrl, invalid),
    askPermission: readPermission(get('HANDOFF_ASK_PERMISSION'), invalid),
    models: [...new Set([get('LLM_MODEL') ?? '', ...list(get('HANDOFF_MODELS'))])].filter((name) => name !== ''),
    limits: {
      sandboxes: Math.max(1, Math.floor(number('HANDOFF_SANDBOXES') ?? 20)),
      waiting: Math.floor(number('HANDOFF_QUEUE') ?? 400),
      perCaller: Math.max(1, Math.floor(number('HANDOFF_CALLER_QUESTIONS') ?? 100)),
      tokensPerDay: tokens,
      costPerDay: cost,
    },
    corsOrigins: readOrigins(get('HANDOFF_CORS_ORIGINS'), invalid),
    hosts: readHosts(get('HANDOFF_HOSTS'), invalid),
    wrong: invalid,
  }
}

type Get = (name: string) => string | undefined

function invalidProductSettings(get: Get): string[] {
  const invalid: string[] = []
  for (const name of productAddresses) if (get(name) !== undefined) address(get(name)!, name, invalid)
  if (get('DRIVE9_BINARY_URL') !== undefined) secureAddress(get('DRIVE9_BINARY_URL')!, 'DRIVE9_BINARY_URL', invalid)
  if (!/^([0-9a-f]{64})?$/i.test(get('DRIVE9_BINARY_SHA256') ?? '')) invalid.push('DRIVE9_BINARY_SHA256')
  for (const name of productNumbers) readNumber(get(name), name, invalid)
  for (const name of productCounts) if (!isCount(Number(get(name) ?? 1))) invalid.push(name)
  if (!/^(\/(?!\.+(?:\/|$))[A-Za-z0-9._-]+)*\/?$/.test(get('DRIVE9_ROOT') ?? '')) invalid.push('DRIVE9_ROOT')
  return invalid
}

/** An invalid limit counts as the strictest one. */
function readNumber(value: string | undefined, name: string, invalid: string[]): number | undefined {
  if (value === undefined) return undefined
  const found = Number(value)
  if (Number.isFinite(found) && found >= 0) return found
  invalid.push(name)
  return 0
}

/** The form of a GitHub private key. Its content is checked on first use. */
const keyForm = /^-----BEGIN ((?:RSA )?PRIVATE KEY)-----\r?\n[A-Za-z0-9+/=\r\n]+\n-----END \1-----$/m

function readGitHub(get: Get, serverUrl: string, wrong: string[]): ServiceSettings['github'] {
  const [token, id, privateKey] = [get('HANDOFF_GITHUB_TOKEN'), get('HANDOFF_APP_ID'), get('HANDOFF_APP_PRIVATE_KEY')]
  if ((id === undefined) !== (privateKey === undefined))
    wrong.push(id === undefined ? 'HANDOFF_APP_ID' : 'HANDOFF_APP_PRIVATE_KEY')
  else if (privateKey !== undefined && !keyForm.test(privateKey.replaceAll('\\n', '\n')))
    wrong.push('HANDOFF_APP_PRIVATE_KEY')
  return {
    serverUrl,
    apiUrl: address(get('GITHUB_API_URL') ?? 'https://api.github.com', 'GITHUB_API_URL', wrong),
    token,
    ...(id === undefined || privateKey === undefined
      ? {}
      : { app: { id, privateKey: privateKey.replaceAll('\\n', '\n') } }),
  }
}

/** Undefined for an invalid entry, which then allows no access. */
function readBearers(value: string, wrong: string[]): Bearer[] {
  const entries = value.split(/[;\n]/).map((entry) => entry.trim())
  const bearers = entries.filter((entry) => entry !== '').map(readBearer)
  if (bearers.includes(undefined)) wrong.push('HANDOFF_BEARERS')
  return bearers.filter((bearer) => bearer !== undefined)
}

const bearerForm = /^([A-Za-z0-9_.-]{1,60})\s*=\s*([0-9a-fA-F]{64})\s*=\s*(\S.*)$/
const patternForm = /^(\*|[a-z0-9_.-]+(?:\/[a-z0-9_.-]+)*\/(?:\*|[a-z0-9_.-]+))(?:#(\d{1,20}))?$/

function readBearer(entry: string): Bearer | undefined {
  const [, name, sha256, names] = bearerForm.exec(entry) ?? []
  if (name === undefined || sha256 === undefined || names === undefined) return undefined
  const words = list(names.toLowerCase())
  const repositories = readPatterns(words.filter((one) => one !== '+comment'))
  if (repositories === undefined) return undefined
  return { name, sha256: Buffer.from(sha256, 'hex'), repositories, mayComment: words.includes('+comment') }
}

/** Undefined if there is none, or if one has no valid form. */
function readPatterns(names: string[]): Pattern[] | undefined {
  const patterns = names.map((one) => {
    const [, name, id] = patternForm.exec(one) ?? []
    return name === undefined ? undefined : { name, id }
  })
  const valid = patterns.filter((pattern) => pattern !== undefined)
  return valid.length > 0 && valid.length === patterns.length ? valid : undefined
}

/** Every repository on the issuer's host can have a job with this audience, so none is let in unless it is listed. */
function readJobs(audience: string | undefined, value: string | undefined, wrong: string[]): Pattern[] {
  const found = readPatterns(list(value?.toLowerCase()))
  if (found === undefined && (audience !== undefined || value !== undefined)) wrong.push('HANDOFF_OIDC_REPOSITORIES')
  return found ?? []
}

const signInNames = [
  'HANDOFF_APP_CLIENT_ID',
  'HANDOFF_APP_CLIENT_SECRET',
  'HANDOFF_SESSION_SECRET',
  'HANDOFF_SIGN_IN_REPOSITORIES',
] as const

/** Each of the four needs the others. */
function readSignIn(get: Get, wrong: string[]): ServiceSettings['signIn'] {
  const [clientId, clientSecret, sessionSecret, names] = signInNames.map(get)
  if ([clientId, clientSecret, sessionSecret, names].every((one) => one === undefined)) return undefined
  const repositories = readPatterns(list(names?.toLowerCase()))
  const valid = {
    HANDOFF_APP_CLIENT_ID: /^[A-Za-z0-9._-]{1,200}$/.test(clientId ?? ''),
    HANDOFF_APP_CLIENT_SECRET: /^[\x21-\x7e]{1,500}$/.test(clientSecret ?? ''),
    HANDOFF_SESSION_SECRET: (sessionSecret?.length ?? 0) >= 32,
    HANDOFF_SIGN_IN_REPOSITORIES: repositories !== undefined,
  }
  const invalid = signInNames.filter((name) => !valid[name])
  wrong.push(...invalid)
  if (invalid.length > 0 || !clientId || !clientSecret || !sessionSecret || !repositories) return undefined
  return { clientId, clientSecret, sessionSecret, repositories }
}

export const permissions = ['read', 'triage', 'write', 'maintain', 'admin'] as const

function readPermission(value: string | undefined, wrong: string[]): ServiceSettings['askPermission'] {
  const found = permissions.find((one) => one === (value ?? 'write'))
  if (found === undefined) wrong.push('HANDOFF_ASK_PERMISSION')
  return found ?? 'admin'
}

/** Origins as a browser sends them: scheme, host and port. Any other form would never match. */
function readOrigins(value: string | undefined, wrong: string[]): string[] {
  const origins = list(value)
  if (!origins.every((one) => parseHttpUrl(one)?.origin === one)) wrong.push('HANDOFF_CORS_ORIGINS')
  return origins
}

function readHosts(value: string | undefined, wrong: string[]): string[] {
  const hosts = list(value?.toLowerCase())
  if (!hosts.every((one) => /^[a-z0-9.-]+$/.test(one))) wrong.push('HANDOFF_HOSTS')
  return hosts
}

/** For addresses of signing keys and of programs: over plain HTTP their content could be replaced. */
function secureAddress(value: string, name: string, wrong: string[]): string | undefined {
  const url = parseHttpUrl(value)
  if (url && isSecure(url)) return withoutTrailingSlashes(value)
  wrong.push(name)
  return undefined
}

function address(value: string, name: string, wrong: string[]): string {
  if (parseHttpUrl(value)) return withoutTrailingSlashes(value)
  wrong.push(name)
  return 'https://invalid.invalid'
}

function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

function text(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim()
  return value === undefined || value === '' ? undefined : value
}
