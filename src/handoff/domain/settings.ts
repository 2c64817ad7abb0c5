// Parses the settings. An entry point passes its environment; all missing settings are reported together. settings-reference.ts describes each
// setting for the documents.

import { isLoopback, isSecure, parseHttpUrl } from '../util/http-url.js'
import { withoutTrailingSlashes } from '../util/text.js'
import { type Depth, depthNamed, depths } from './answers/depth.js'
import { HandoffError } from './errors.js'
import { type Effort, efforts, type ModelLimits } from './model-limits.js'
import type { Prices } from './model-prices.js'

export interface Settings {
  sandboxes: SandboxSettings
  drive: { apiKey: string; server: string; root: string; objectHosts: string[] }
  model: ModelSettings
  cloneToken?: string | undefined
  /** Note seals, answers, corrections and removals in drive9's journal. */
  journal?: true
  /** What the team wants the model to know. */
  instructions?: string | undefined
  limits: { inputTokens: number; maxCost?: number | undefined; deadlineMs: number; depth?: Depth | undefined }
}

/** Where the drive9 program is published, and its pinned hash where there is one. */
export interface ProgramSource {
  url: string
  sha256?: string | undefined
}

/** The E2B account. Addresses come from the SDK's own variables unless given here. */
export interface SandboxSettings {
  apiKey: string
  /** Absent: our own template, or E2B's `base` as long as the account does not have ours. `base` is prepared at every start. */
  template?: string | undefined
  /** Of a self-hosted E2B. */
  domain?: string | undefined
  apiUrl?: string | undefined
  sandboxUrl?: string | undefined
  /** The drive9 program, for our own template and for `base`. */
  binary: ProgramSource
}

export interface ModelSettings extends ModelLimits {
  /** LLM_BASE_URL, with `/v1` where the service wants it. */
  baseUrl: string
  /** LLM_API_KEY. */
  apiKey: string
  /** LLM_CONCURRENCY: requests at once; unlimited when absent. */
  concurrency?: number | undefined
  /** LLM_FIRST_TOKEN_SECONDS: timeout before the first text; two minutes when absent. */
  firstTextMs?: number | undefined
  /** Timeout of one whole reply; the caller's deadline when absent. */
  totalMs?: number
  /** The longest `Retry-After` that is waited for; a minute when absent. */
  longestWaitMs?: number
  /** Retries of a failed call, where that is safe; two when absent. */
  retries?: number
  prices?: Prices | undefined
}

export type Environment = Record<string, string | undefined>

export const requiredSettings = ['E2B_API_KEY', 'DRIVE9_API_KEY', 'LLM_API_KEY', 'LLM_MODEL'] as const

export function missingSettings(environment: Environment): string[] {
  return requiredSettings.filter((name) => value(environment, name) === undefined)
}

export function parseSettings(environment: Environment): Settings {
  const missing = missingSettings(environment)
  if (missing.length > 0) {
    throw new HandoffError('missing-setting', `These settings are missing: ${missing.join(', ')}.`, {
      next: 'Each is explained in .env.example.',
    })
  }
  const get = (name: string) => value(environment, name)
  const priceInput = amount(environment, 'LLM_PRICE_INPUT')
  const priceOutput = amount(environment, 'LLM_PRICE_OUTPUT')
  const firstSeconds = wholeOrNone(environment, 'LLM_FIRST_TOKEN_SECONDS')
  return {
    sandboxes: parseSandboxSettings(environment),
    drive: parseDriveSettings(environment),
    model: {
      apiKey: get('LLM_API_KEY')!,
      baseUrl: address(environment, 'LLM_BASE_URL', 'https://api.openai.com/v1'),
      name: get('LLM_MODEL')!,
      contextTokens: whole(environment, 'LLM_CONTEXT_TOKENS', 128_000),
      maxOutputTokens: wholeOrNone(environment, 'LLM_MAX_OUTPUT_TOKENS'),
      effort: effortIn(environment),
      concurrency: wholeOrNone(environment, 'LLM_CONCURRENCY'),
      firstTextMs: firstSeconds && firstSeconds * 1_000,
      prices:
        priceInput === undefined || priceOutput === undefined ? undefined : { input: priceInput, output: priceOutput },
    },
    cloneToken: get('HANDOFF_CLONE_TOKEN'),
    ...(wantsJournal(environment) ? { journal: true as const } : {}),
    instructions: get('HANDOFF_INSTRUCTIONS'),
    limits: {
      inputTokens: whole(environment, 'HANDOFF_MAX_INPUT_TOKENS', 400_000),
      deadlineMs: parseDeadline(environment),
      maxCost: amount(environment, 'HANDOFF_MAX_COST'),
      depth: depthIn(environment),
    },
  }
}

/** Whether the operator wants notes in drive9's journal. */
export const wantsJournal = (environment: Environment): boolean => isOn(environment, 'HANDOFF_JOURNAL')

/** The settings of E2B alone. */
export function parseSandboxSettings(environment: Environment): SandboxSettings {
  const get = (name: string) => value(environment, name)
  return {
    apiKey: get('E2B_API_KEY') ?? '',
    template: get('E2B_TEMPLATE'),
    domain: get('E2B_DOMAIN'),
    apiUrl: get('E2B_API_URL') && address(environment, 'E2B_API_URL', ''),
    sandboxUrl: get('E2B_SANDBOX_URL') && address(environment, 'E2B_SANDBOX_URL', ''),
    binary: programSource(environment),
  }
}

/** The deadline of a workflow in milliseconds. */
export function parseDeadline(environment: Environment): number {
  return whole(environment, 'HANDOFF_DEADLINE_SECONDS', 900) * 1_000
}

/** The settings of drive9 alone. */
export function parseDriveSettings(environment: Environment): Settings['drive'] {
  const get = (name: string) => value(environment, name)
  return {
    apiKey: get('DRIVE9_API_KEY') ?? '',
    server: address(environment, 'DRIVE9_SERVER', 'https://api.drive9.ai'),
    root: root(get('DRIVE9_ROOT') ?? '/handoff'),
    objectHosts: (get('DRIVE9_OBJECT_HOSTS') ?? '')
      .split(',')
      .map((host) => host.trim())
      .filter((host) => host !== ''),
  }
}

export const publishedDrive9 = 'https://drive9.ai/releases/drive9-linux-amd64'

/** The address of the drive9 program, and its hash if pinned. Plain http is allowed on loopback only. */
function programSource(environment: Environment): ProgramSource {
  const url = address(environment, 'DRIVE9_BINARY_URL', publishedDrive9)
  if (!isSecure(new URL(url))) {
    throw new HandoffError('invalid-input', 'DRIVE9_BINARY_URL is not an https address.', {
      next: `Write it like ${publishedDrive9}.`,
    })
  }
  const sha256 = value(environment, 'DRIVE9_BINARY_SHA256')?.toLowerCase()
  if (sha256 === undefined) return { url }
  if (/^[0-9a-f]{64}$/.test(sha256)) return { url, sha256 }
  throw new HandoffError('invalid-input', 'DRIVE9_BINARY_SHA256 is not a sha256 in 64 hexadecimal digits.', {
    next: `It stands in ${new URL('checksums.txt', url).href}; leave it empty to take the program that is published.`,
  })
}

/** The settings whose values are secret. */
export const secretSettings: readonly string[] = [
  'E2B_API_KEY',
  'DRIVE9_API_KEY',
  'LLM_API_KEY',
  'HANDOFF_CLONE_TOKEN',
  'HANDOFF_WEBHOOK_SECRETS',
  'HANDOFF_E2B_WEBHOOK_SECRETS',
  'HANDOFF_GITHUB_TOKEN',
  'HANDOFF_APP_PRIVATE_KEY',
  'HANDOFF_APP_CLIENT_SECRET',
  'HANDOFF_SESSION_SECRET',
]

/** The values of the secret settings, for masks, redactors and scans. */
export function secretsIn(environment: Environment): string[] {
  return secretSettings.flatMap((name) => {
    const text = value(environment, name)
    if (text === undefined) return []
    return name.endsWith('_WEBHOOK_SECRETS') ? text.split(',').map((one) => one.trim()) : [text]
  })
}

/**
 * Refuses a loopback address that a sandbox in the cloud cannot reach, before anything is paid for. `sandboxAddress` is the address of the
 * sandbox service; if that is on loopback, its sandboxes are on this machine too.
 */
export function refuseImpossibleMix(
  sandboxAddress: string | undefined,
  reached: { what: string; url: string }[],
): void {
  if (sandboxAddress !== undefined && isLoopback(new URL(sandboxAddress))) return
  for (const { what, url } of reached) {
    if (!isLoopback(new URL(url))) continue
    throw new HandoffError(
      'invalid-input',
      `A sandbox in the E2B cloud cannot reach ${what} on this machine (${new URL(url).host}).`,
      {
        next: `Use ${what} with a public address, or run the sandboxes on this machine too by leaving E2B_API_KEY empty in the demo.`,
      },
    )
  }
}

function value(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim()
  return text === undefined || text === '' ? undefined : text
}

function address(environment: Environment, name: string, otherwise: string): string {
  const text = value(environment, name) ?? otherwise
  if (!parseHttpUrl(text)) {
    throw new HandoffError('invalid-input', `${name} is not an http(s) address without credentials.`, {
      next: `Write it like ${otherwise}.`,
    })
  }
  return withoutTrailingSlashes(text)
}

function root(text: string): string {
  if (/^(\/[A-Za-z0-9._-]+)*\/?$/.test(text) && !text.split('/').some((part) => /^\.+$/.test(part)))
    return withoutTrailingSlashes(text)
  throw new HandoffError('invalid-input', 'DRIVE9_ROOT is not an absolute path of plain names.', {
    next: 'Write it like /handoff.',
  })
}

function effortIn(environment: Environment): Effort | undefined {
  const text = value(environment, 'LLM_REASONING_EFFORT')?.toLowerCase()
  const found = efforts.find((one) => one === text)
  if (text === undefined || found !== undefined) return found
  throw new HandoffError('invalid-input', 'LLM_REASONING_EFFORT is not an effort that models know.', {
    next: `Write one of ${efforts.join(', ')}, or leave it empty for the model’s own.`,
  })
}

function depthIn(environment: Environment): Depth | undefined {
  const text = value(environment, 'HANDOFF_DEPTH')?.toLowerCase()
  const found = text === undefined ? undefined : depthNamed(text)
  if (text === undefined || found !== undefined) return found
  throw new HandoffError('invalid-input', `HANDOFF_DEPTH is none of ${depths.join(', ')}.`, {
    next: 'Write normal, or leave it empty.',
  })
}

const whole = (environment: Environment, name: string, otherwise: number): number =>
  wholeOrNone(environment, name) ?? otherwise

function isOn(environment: Environment, name: string): boolean {
  const text = value(environment, name)?.toLowerCase()
  if (text === undefined || text === 'false') return false
  if (text === 'true') return true
  throw new HandoffError('invalid-input', `${name} is neither true nor false.`, {
    next: 'Write true, or leave it out.',
  })
}

function wholeOrNone(environment: Environment, name: string): number | undefined {
  const found = amount(environment, name)
  if (found === undefined) return undefined
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
