// Every setting there is, with a sentence each. Doors hand in their environment; this reads it once into frozen values and names all that is
// missing together. `.env.example` and the README's tables are generated from the table below.
import { HandoffError } from './errors.js'

export interface Setting {
  name: string
  text: string
  /** Shown where the value may stand in a file; secrets are left empty. */
  example?: string
  secret?: boolean
  group: 'sandboxes' | 'durable directory' | 'model' | 'git host' | 'limits' | 'service'
}

export const settingTable: Setting[] = [
  { group: 'sandboxes', name: 'E2B_API_KEY', secret: true, text: 'Key of the E2B account that the sandboxes run in.' },
  {
    group: 'sandboxes',
    name: 'E2B_TEMPLATE',
    example: 'handoff',
    text: 'Template of the sandboxes, built by `npm run template`. `base` works too and is prepared at every start, which takes longer.',
  },
  {
    group: 'sandboxes',
    name: 'E2B_API_URL',
    text: 'Address of the control plane of a self-hosted E2B, where it is not api.<domain>.',
  },
  {
    group: 'sandboxes',
    name: 'E2B_SANDBOX_URL',
    text: 'Address of the sandboxes of a self-hosted E2B, where one address serves them all.',
  },
  { group: 'sandboxes', name: 'E2B_DOMAIN', text: 'Domain of a self-hosted E2B; e2b.app when empty.' },
  {
    group: 'durable directory',
    name: 'DRIVE9_API_KEY',
    secret: true,
    text: 'Owner key of the drive9 account. It stays with the host; sandboxes get short-lived tokens for one directory.',
  },
  {
    group: 'durable directory',
    name: 'DRIVE9_SERVER',
    example: 'https://api.drive9.ai',
    text: 'Address of drive9, as the host and the sandboxes reach it.',
  },
  {
    group: 'durable directory',
    name: 'DRIVE9_ROOT',
    example: '/handoff',
    text: 'Directory on drive9 that everything is kept in.',
  },
  {
    group: 'durable directory',
    name: 'DRIVE9_OBJECT_HOSTS',
    text: 'Hosts of its object storage, separated by commas, for the egress list of sandboxes.',
  },
  {
    group: 'durable directory',
    name: 'DRIVE9_BINARY_URL',
    text: 'Where the drive9 program is downloaded from for templates and for plain sandboxes: an address whose content never changes.',
  },
  { group: 'durable directory', name: 'DRIVE9_BINARY_SHA256', text: 'What that download must hash to.' },
  {
    group: 'model',
    name: 'LLM_API_KEY',
    secret: true,
    text: 'Key of the model service; any text for a server that wants none.',
  },
  {
    group: 'model',
    name: 'LLM_BASE_URL',
    example: 'https://api.openai.com/v1',
    text: 'Address of an OpenAI-compatible service, the part before /chat/completions.',
  },
  { group: 'model', name: 'LLM_MODEL', text: 'Name of the model, as the service calls it.' },
  {
    group: 'model',
    name: 'LLM_CONTEXT_TOKENS',
    example: '128000',
    text: 'Tokens that the model takes in one request, input and output together.',
  },
  {
    group: 'model',
    name: 'LLM_PRICE_INPUT',
    text: 'US dollars for a million input tokens. Without it, and for a model that is not in the table, no price is shown.',
  },
  { group: 'model', name: 'LLM_PRICE_OUTPUT', text: 'US dollars for a million output tokens.' },
  {
    group: 'git host',
    name: 'HANDOFF_CLONE_TOKEN',
    secret: true,
    text: 'Token that can read private repositories and nothing else.',
  },
  {
    group: 'limits',
    name: 'HANDOFF_MAX_INPUT_TOKENS',
    example: '400000',
    text: 'Input tokens that one summary may cost.',
  },
  { group: 'limits', name: 'HANDOFF_MAX_COST', text: 'US dollars that one summary may cost; needs a known price.' },
  {
    group: 'limits',
    name: 'HANDOFF_DEADLINE_SECONDS',
    example: '900',
    text: 'Seconds after which a walk is given up.',
  },
  {
    group: 'service',
    name: 'HANDOFF_BEARERS',
    text: 'Who may ask the service: `name=<sha256 of the token in hex>=owner/name,owner/*`, several separated by `;`. A repository may carry its number: `owner/name#123`.',
  },
  {
    group: 'service',
    name: 'HANDOFF_OIDC_AUDIENCE',
    text: 'Address of this deployment. With it, jobs of GitHub Actions may ask about their own repository with a token made for this audience.',
  },
  {
    group: 'service',
    name: 'HANDOFF_OIDC_ISSUER',
    example: 'https://token.actions.githubusercontent.com',
    text: 'Who issues those tokens: `https://<host>/_services/token` for an Enterprise Server.',
  },
  {
    group: 'service',
    name: 'HANDOFF_WEBHOOK_SECRETS',
    secret: true,
    text: 'Secret of the GitHub webhook; two, separated by a comma, while one replaces the other.',
  },
  {
    group: 'service',
    name: 'HANDOFF_GITHUB_TOKEN',
    secret: true,
    text: 'Fine-grained token that writes comments (pull requests: write), where there is no App.',
  },
  { group: 'service', name: 'HANDOFF_APP_ID', text: 'Number of the GitHub App that writes comments.' },
  {
    group: 'service',
    name: 'HANDOFF_APP_PRIVATE_KEY',
    secret: true,
    text: 'Private key of that App, as downloaded; line ends may be written as \\n.',
  },
  {
    group: 'service',
    name: 'HANDOFF_ASK_PERMISSION',
    example: 'write',
    text: 'What somebody must be allowed in a repository to ask by a comment: read, triage, write, maintain or admin.',
  },
  {
    group: 'service',
    name: 'GITHUB_SERVER_URL',
    example: 'https://github.com',
    text: 'The git host whose repositories are asked about.',
  },
  {
    group: 'service',
    name: 'GITHUB_API_URL',
    example: 'https://api.github.com',
    text: 'Address of its API.',
  },
  { group: 'service', name: 'HANDOFF_MODELS', text: 'Further models that a request may name, separated by commas.' },
  {
    group: 'service',
    name: 'HANDOFF_SANDBOXES',
    example: '20',
    text: 'Sandboxes at once over all instances; no more than the account has.',
  },
  { group: 'service', name: 'HANDOFF_QUEUE', example: '400', text: 'Questions that may wait for a sandbox.' },
  {
    group: 'service',
    name: 'HANDOFF_CALLER_QUESTIONS',
    example: '400',
    text: 'Questions of one caller that may wait or be answered at once.',
  },
  { group: 'service', name: 'HANDOFF_CALLER_TOKENS', text: 'Tokens that one caller may spend in a day (UTC).' },
  {
    group: 'service',
    name: 'HANDOFF_CALLER_COST',
    text: 'US dollars that one caller may spend in a day; needs a known price.',
  },
  {
    group: 'service',
    name: 'HANDOFF_CORS_ORIGINS',
    text: 'Origins of other pages that may ask from a browser, separated by commas; none when empty.',
  },
  { group: 'service', name: 'CRON_SECRET', secret: true, text: 'What the platform bears when it calls /api/cron.' },
]

export interface Settings {
  sandboxes: {
    apiKey: string
    template: string
    domain?: string
    apiUrl?: string
    sandboxUrl?: string
    binary?: { url: string; sha256: string }
  }
  drive: { apiKey: string; server: string; root: string; objectHosts: string[] }
  model: {
    apiKey: string
    baseUrl: string
    name: string
    contextTokens: number
    prices?: { input: number; output: number }
    /** The longest wait that the model's service may ask for; a minute when absent. */
    longestWaitMs?: number
  }
  cloneToken?: string
  limits: { inputTokens: number; maxCost?: number; deadlineMs: number }
}

export type Environment = Record<string, string | undefined>

const required = ['E2B_API_KEY', 'DRIVE9_API_KEY', 'LLM_API_KEY', 'LLM_MODEL'] as const

export function missingSettings(environment: Environment): string[] {
  return required.filter((name) => value(environment, name) === undefined)
}

export function parseSettings(environment: Environment): Settings {
  const missing = missingSettings(environment)
  if (missing.length > 0) {
    throw new HandoffError('missing-setting', `These settings are missing: ${missing.join(', ')}.`, {
      next: 'Each is explained in .env.example.',
    })
  }
  const get = (name: string) => value(environment, name)
  const binaryUrl = get('DRIVE9_BINARY_URL')
  const binarySha = get('DRIVE9_BINARY_SHA256')
  const domain = get('E2B_DOMAIN')
  const cloneToken = get('HANDOFF_CLONE_TOKEN')
  const priceInput = amount(environment, 'LLM_PRICE_INPUT')
  const priceOutput = amount(environment, 'LLM_PRICE_OUTPUT')
  const maxCost = amount(environment, 'HANDOFF_MAX_COST')
  return {
    sandboxes: {
      apiKey: get('E2B_API_KEY')!,
      template: get('E2B_TEMPLATE') ?? 'handoff',
      ...(domain === undefined ? {} : { domain }),
      ...(get('E2B_API_URL') === undefined ? {} : { apiUrl: address(environment, 'E2B_API_URL', '') }),
      ...(get('E2B_SANDBOX_URL') === undefined ? {} : { sandboxUrl: address(environment, 'E2B_SANDBOX_URL', '') }),
      ...(binaryUrl !== undefined && binarySha !== undefined ? { binary: { url: binaryUrl, sha256: binarySha } } : {}),
    },
    drive: {
      apiKey: get('DRIVE9_API_KEY')!,
      server: address(environment, 'DRIVE9_SERVER', 'https://api.drive9.ai'),
      root: root(get('DRIVE9_ROOT') ?? '/handoff'),
      objectHosts: (get('DRIVE9_OBJECT_HOSTS') ?? '')
        .split(',')
        .map((host) => host.trim())
        .filter((host) => host !== ''),
    },
    model: {
      apiKey: get('LLM_API_KEY')!,
      baseUrl: address(environment, 'LLM_BASE_URL', 'https://api.openai.com/v1'),
      name: get('LLM_MODEL')!,
      contextTokens: whole(environment, 'LLM_CONTEXT_TOKENS', 128_000),
      ...(priceInput !== undefined && priceOutput !== undefined
        ? { prices: { input: priceInput, output: priceOutput } }
        : {}),
    },
    ...(cloneToken === undefined ? {} : { cloneToken }),
    limits: {
      inputTokens: whole(environment, 'HANDOFF_MAX_INPUT_TOKENS', 400_000),
      deadlineMs: whole(environment, 'HANDOFF_DEADLINE_SECONDS', 900) * 1_000,
      ...(maxCost === undefined ? {} : { maxCost }),
    },
  }
}

/** Every value that must never be seen outside: for masks, redactors and scans. */
export function secretsIn(environment: Environment): string[] {
  return settingTable.flatMap((setting) => (setting.secret ? (value(environment, setting.name) ?? []) : []))
}

/**
 * A machine in somebody's cloud cannot reach a server on this one. Says so before anything is paid for.
 * `sandboxAddress` is where the sandbox service is; on loopback its machines are here too.
 */
export function refuseImpossibleMix(
  sandboxAddress: string | undefined,
  reached: { what: string; url: string }[],
): void {
  if (sandboxAddress !== undefined && isLoopback(sandboxAddress)) return
  for (const { what, url } of reached) {
    if (!isLoopback(url)) continue
    throw new HandoffError(
      'invalid-input',
      `A sandbox in the E2B cloud cannot reach ${what} on this machine (${new URL(url).host}).`,
      {
        next: `Use ${what} with a public address, or run the sandboxes on this machine too by leaving E2B_API_KEY empty in the demo.`,
      },
    )
  }
}

export function isLoopback(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function value(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim()
  return text === undefined || text === '' ? undefined : text
}

function address(environment: Environment, name: string, otherwise: string): string {
  const text = value(environment, name) ?? otherwise
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol) || new URL(text).username !== '') {
    throw new HandoffError('invalid-input', `${name} is not an http(s) address without credentials.`, {
      next: `Write it like ${otherwise}.`,
    })
  }
  return text.replace(/\/+$/, '')
}

function root(text: string): string {
  if (/^(\/[A-Za-z0-9._-]+)*\/?$/.test(text) && !text.split('/').some((part) => /^\.+$/.test(part)))
    return text.replace(/\/+$/, '')
  throw new HandoffError('invalid-input', 'DRIVE9_ROOT is not an absolute path of plain names.', {
    next: 'Write it like /handoff.',
  })
}

function whole(environment: Environment, name: string, otherwise: number): number {
  const found = amount(environment, name) ?? otherwise
  if (Number.isSafeInteger(found) && found > 0) return found
  throw new HandoffError('invalid-input', `${name} is not a whole number above zero.`)
}

function amount(environment: Environment, name: string): number | undefined {
  const text = value(environment, name)
  if (text === undefined) return undefined
  const parsed = Number(text)
  if (Number.isFinite(parsed) && parsed >= 0) return parsed
  throw new HandoffError('invalid-input', `${name} is not a number.`, { next: 'Write it with digits and a point.' })
}
