// The settings of the HTTP service. Imports almost nothing, so that rejected requests and health checks stay cheap.

import { parseHttpUrl } from '../handoff/util/http-url.js'
import { type Environment, type SettingReader, settingReader, wordsOf } from '../handoff/util/setting-reader.js'

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
  askPermission: (typeof permissions)[number]
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
  /** Names of invalid settings, each with the form that it should have. */
  wrong: Record<string, string>
}

const usualIssuer = 'https://token.actions.githubusercontent.com'
/** Stands for an address that cannot be read. */
const nowhere = 'https://invalid.invalid'

export function readServiceSettings(environment: Environment): ServiceSettings {
  const reader = settingReader(environment)
  const { text, list } = reader
  const address = (name: string, usual: string) => (text(name) ? (reader.address(name, usual) ?? nowhere) : usual)
  /** An invalid limit counts as the strictest one. */
  const limit = (name: string, form?: string) => reader.amount(name, form) ?? (text(name) ? 0 : undefined)
  const audience = text('HANDOFF_OIDC_AUDIENCE')
  const givenIssuer = reader.secureAddress('HANDOFF_OIDC_ISSUER', usualIssuer)
  const issuer = text('HANDOFF_OIDC_ISSUER') ? givenIssuer : usualIssuer
  const jobs = readJobs(reader, audience)
  const settings = {
    bearers: readBearers(reader),
    ...(audience === undefined || issuer === undefined ? {} : { oidc: { audience, issuer, repositories: jobs } }),
    signIn: readSignIn(reader),
    webhookSecrets: list('HANDOFF_WEBHOOK_SECRETS'),
    e2bWebhookSecrets: list('HANDOFF_E2B_WEBHOOK_SECRETS'),
    queue: text('VERCEL') === undefined ? ('memory' as const) : ('vercel' as const),
    ...(text('HANDOFF_QUEUE_URL') ? { queueUrl: address('HANDOFF_QUEUE_URL', nowhere) } : {}),
    github: {
      serverUrl: address('GITHUB_SERVER_URL', 'https://github.com'),
      apiUrl: address('GITHUB_API_URL', 'https://api.github.com'),
      token: text('HANDOFF_GITHUB_TOKEN'),
      ...readApp(reader),
    },
    // An invalid permission counts as the strictest one.
    askPermission: text('HANDOFF_ASK_PERMISSION')
      ? (reader.oneOf('HANDOFF_ASK_PERMISSION', permissions) ?? 'admin')
      : ('write' as const),
    models: [...new Set([text('LLM_MODEL') ?? '', ...list('HANDOFF_MODELS')])].filter((name) => name !== ''),
    limits: {
      sandboxes: Math.max(1, Math.floor(limit('HANDOFF_SANDBOXES') ?? 20)),
      waiting: Math.floor(limit('HANDOFF_QUEUE') ?? 400),
      perCaller: Math.max(1, Math.floor(limit('HANDOFF_CALLER_QUESTIONS') ?? 100)),
      tokensPerDay: limit('HANDOFF_CALLER_TOKENS', budgetForms.HANDOFF_CALLER_TOKENS),
      costPerDay: limit('HANDOFF_CALLER_COST', budgetForms.HANDOFF_CALLER_COST),
    },
    corsOrigins: checkedList(
      reader,
      'HANDOFF_CORS_ORIGINS',
      isOrigin,
      'origins such as https://docs.example.org, separated by commas',
    ),
    hosts: checkedList(
      reader,
      'HANDOFF_HOSTS',
      (word) => /^[a-z0-9.-]+$/i.test(word),
      'host names such as handoff.example.org, separated by commas',
    ).map((host) => host.toLowerCase()),
  }
  const wrong = Object.entries(reader.wrong).map(([name, { form }]) => [name, form])
  return { ...settings, wrong: Object.fromEntries(wrong) }
}

/** Budgets of a day. The health check compares them with the cost of one question. */
export const budgetForms = {
  HANDOFF_CALLER_TOKENS: 'as many tokens as one question may take, or more',
  HANDOFF_CALLER_COST: 'as many US dollars as one question may cost, or more, for a model whose price is known',
}

/** The form of a GitHub private key. Its content is checked on first use. */
const keyForm = /^-----BEGIN ((?:RSA )?PRIVATE KEY)-----\r?\n[A-Za-z0-9+/=\r\n]+\n-----END \1-----$/m

function readApp({ text, wrong }: SettingReader): Pick<ServiceSettings['github'], 'app'> {
  const [id, key] = [text('HANDOFF_APP_ID'), text('HANDOFF_APP_PRIVATE_KEY')?.replaceAll('\\n', '\n')]
  if (id === undefined && key === undefined) return {}
  if (id === undefined) wrong['HANDOFF_APP_ID'] = { form: "the App's id, which its private key needs beside it" }
  else if (key === undefined || !keyForm.test(key))
    wrong['HANDOFF_APP_PRIVATE_KEY'] = { form: "the App's private key as GitHub gives it, beside HANDOFF_APP_ID" }
  return id === undefined || key === undefined ? {} : { app: { id, privateKey: key } }
}

/** An invalid entry allows no access. */
function readBearers({ text, wrong }: SettingReader): Bearer[] {
  const entries = (text('HANDOFF_BEARERS') ?? '').split(/[;\n]/).map((entry) => entry.trim())
  const bearers = entries.filter((entry) => entry !== '').map(readBearer)
  if (bearers.includes(undefined)) wrong['HANDOFF_BEARERS'] = { form: bearersForm }
  return bearers.filter((bearer) => bearer !== undefined)
}

const bearersForm = 'entries as npm run token makes them: name=sha256 of the token=owner/*, separated by semicolons'
const bearerForm = /^([A-Za-z0-9_.-]{1,60})\s*=\s*([0-9a-fA-F]{64})\s*=\s*(\S.*)$/
const patternForm = /^(\*|[a-z0-9_.-]+(?:\/[a-z0-9_.-]+)*\/(?:\*|[a-z0-9_.-]+))(?:#(\d{1,20}))?$/

function readBearer(entry: string): Bearer | undefined {
  const [, name, sha256, names] = bearerForm.exec(entry) ?? []
  if (name === undefined || sha256 === undefined || names === undefined) return undefined
  const words = wordsOf(names.toLowerCase())
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
function readJobs({ text, list, wrong }: SettingReader, audience: string | undefined): Pattern[] {
  const name = 'HANDOFF_OIDC_REPOSITORIES'
  const found = readPatterns(list(name).map((one) => one.toLowerCase()))
  if (found === undefined && (audience !== undefined || text(name) !== undefined)) {
    const form = 'the repositories whose jobs may ask: owner/name, owner/* or *, separated by commas'
    wrong[name] = { form }
  }
  return found ?? []
}

/** Each of the four needs the others. */
const signInForms: Record<string, string> = {
  HANDOFF_APP_CLIENT_ID: 'the client id of the App, beside the three other settings of signing in',
  HANDOFF_APP_CLIENT_SECRET: 'a client secret of the App, beside HANDOFF_APP_CLIENT_ID',
  HANDOFF_SESSION_SECRET:
    '32 random characters or more, such as openssl rand -base64 32 prints, beside HANDOFF_APP_CLIENT_ID',
  HANDOFF_SIGN_IN_REPOSITORIES:
    'the repositories that people may ask about: owner/* or owner/name, separated by commas, beside HANDOFF_APP_CLIENT_ID',
}

function readSignIn({ text, wrong }: SettingReader): ServiceSettings['signIn'] {
  const [clientId = '', clientSecret = '', sessionSecret = '', names = ''] = Object.keys(signInForms).map(text)
  if (`${clientId}${clientSecret}${sessionSecret}${names}` === '') return undefined
  const repositories = readPatterns(wordsOf(names.toLowerCase()))
  const valid = [
    /^[A-Za-z0-9._-]{1,200}$/.test(clientId),
    /^[\x21-\x7e]{1,500}$/.test(clientSecret),
    sessionSecret.length >= 32,
    repositories !== undefined,
  ]
  for (const [index, [name, form]] of Object.entries(signInForms).entries()) if (!valid[index]) wrong[name] = { form }
  return repositories && valid.every(Boolean) ? { clientId, clientSecret, sessionSecret, repositories } : undefined
}

const permissions = ['read', 'triage', 'write', 'maintain', 'admin'] as const

/** A word of another form is noted, and is kept: it meets nothing. */
function checkedList({ list, wrong }: SettingReader, name: string, fits: (word: string) => boolean, form: string) {
  const words = list(name)
  if (!words.every(fits)) wrong[name] = { form }
  return words
}

/** As a browser sends it: scheme, host and port. Any other form would never match. */
const isOrigin = (word: string) => parseHttpUrl(word)?.origin === word
