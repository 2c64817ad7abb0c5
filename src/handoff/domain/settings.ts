// Parses the settings. An entry point passes its environment; all missing settings are reported together. settings-reference.ts describes each
// setting for the documents.

import { isLoopback } from '../util/http-url.js'
import { type Environment, type SettingReader, settingReader } from '../util/setting-reader.js'
import { type Depth, depths } from './answers/depth.js'
import { type DriveSettings, readDriveSettings, refuseMissing, strictly } from './drive-settings.js'
import { HandoffError } from './errors.js'
import { efforts, type ModelLimits } from './model-limits.js'
import type { Prices } from './model-prices.js'

export interface Settings {
  sandboxes: SandboxSettings
  drive: DriveSettings
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

export const requiredSettings = ['E2B_API_KEY', 'DRIVE9_API_KEY', 'LLM_API_KEY', 'LLM_MODEL'] as const

export function missingSettings(environment: Environment): string[] {
  return requiredSettings.filter((name) => !environment[name]?.trim())
}

export function parseSettings(environment: Environment): Settings {
  refuseMissing(environment, requiredSettings)
  return strictly(environment, readSettings)
}

/** Names of the settings that cannot be read, each with the form that it should have. */
export function wrongSettings(environment: Environment): Record<string, string> {
  const reader = settingReader(environment)
  readSettings(reader)
  return Object.fromEntries(Object.entries(reader.wrong).map(([name, { form }]) => [name, form]))
}

/** The settings of E2B alone. */
export const parseSandboxSettings = (environment: Environment) => strictly(environment, readSandboxSettings)

/** The deadline of a workflow in milliseconds. */
export const parseDeadline = (environment: Environment) => strictly(environment, readDeadline)

/** Whether the operator wants notes in drive9's journal. */
export const wantsJournal = (environment: Environment) => strictly(environment, readJournal)

function readSettings(reader: SettingReader): Settings {
  const { text, amount, count, address, oneOf } = reader
  const [sandboxes, drive] = [readSandboxSettings(reader), readDriveSettings(reader)]
  const [input, output] = [amount('LLM_PRICE_INPUT'), amount('LLM_PRICE_OUTPUT')]
  const firstSeconds = count('LLM_FIRST_TOKEN_SECONDS')
  const openai = 'https://api.openai.com/v1'
  return {
    sandboxes,
    drive,
    model: {
      apiKey: text('LLM_API_KEY') ?? '',
      baseUrl: address('LLM_BASE_URL', openai) ?? openai,
      name: text('LLM_MODEL') ?? '',
      contextTokens: count('LLM_CONTEXT_TOKENS') ?? 128_000,
      maxOutputTokens: count('LLM_MAX_OUTPUT_TOKENS'),
      effort: oneOf('LLM_REASONING_EFFORT', efforts),
      concurrency: count('LLM_CONCURRENCY'),
      firstTextMs: firstSeconds && firstSeconds * 1_000,
      prices: input === undefined || output === undefined ? undefined : { input, output },
    },
    cloneToken: text('HANDOFF_CLONE_TOKEN'),
    ...(readJournal(reader) ? { journal: true as const } : {}),
    instructions: text('HANDOFF_INSTRUCTIONS'),
    limits: {
      inputTokens: count('HANDOFF_MAX_INPUT_TOKENS') ?? 400_000,
      deadlineMs: readDeadline(reader),
      maxCost: amount('HANDOFF_MAX_COST'),
      depth: oneOf('HANDOFF_DEPTH', depths),
    },
  }
}

const readDeadline = ({ count }: SettingReader) => (count('HANDOFF_DEADLINE_SECONDS') ?? 900) * 1_000

const readJournal = ({ oneOf }: SettingReader) => oneOf('HANDOFF_JOURNAL', ['true', 'false']) === 'true'

function readSandboxSettings({ text, address, secureAddress, read }: SettingReader): SandboxSettings {
  const url = secureAddress('DRIVE9_BINARY_URL', publishedDrive9) ?? publishedDrive9
  const next = `It stands in ${new URL('checksums.txt', url).href}; leave it empty to take the program that is published.`
  const sha256 = read('DRIVE9_BINARY_SHA256', sha256In, 'a sha256 in 64 hexadecimal digits', next)
  return {
    apiKey: text('E2B_API_KEY') ?? '',
    template: text('E2B_TEMPLATE'),
    domain: text('E2B_DOMAIN'),
    apiUrl: address('E2B_API_URL'),
    sandboxUrl: address('E2B_SANDBOX_URL'),
    binary: sha256 === undefined ? { url } : { url, sha256 },
  }
}

export const publishedDrive9 = 'https://drive9.ai/releases/drive9-linux-amd64'

const sha256In = (text: string) => (/^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : undefined)

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
  const { text, list } = settingReader(environment)
  return secretSettings.flatMap((name) => (name.endsWith('_WEBHOOK_SECRETS') ? list(name) : (text(name) ?? [])))
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
