// Reads the inputs of action.yml. One table maps input names to setting names, so that an error names the input of the workflow and not an
// environment variable.

import {
  type AskLevel,
  askLevels,
  type ChangePart,
  changeParts,
  type Depth,
  depths,
  HandoffError,
  quote,
} from '../handoff/index.js'
import { isSecure, parseHttpUrl } from '../handoff/util/http-url.js'
import { withoutTrailingSlashes } from '../handoff/util/text.js'
import type { Runner } from './runner.js'

/** Inputs that are product settings, in the order in which an error lists the missing ones. */
export const settingInputs = {
  'e2b-api-key': 'E2B_API_KEY',
  'e2b-template': 'E2B_TEMPLATE',
  'e2b-domain': 'E2B_DOMAIN',
  'e2b-api-url': 'E2B_API_URL',
  'e2b-sandbox-url': 'E2B_SANDBOX_URL',
  'drive9-api-key': 'DRIVE9_API_KEY',
  'drive9-server': 'DRIVE9_SERVER',
  'drive9-root': 'DRIVE9_ROOT',
  'drive9-object-hosts': 'DRIVE9_OBJECT_HOSTS',
  'drive9-binary-url': 'DRIVE9_BINARY_URL',
  'drive9-binary-sha256': 'DRIVE9_BINARY_SHA256',
  'llm-api-key': 'LLM_API_KEY',
  'llm-base-url': 'LLM_BASE_URL',
  'llm-model': 'LLM_MODEL',
  'llm-context-tokens': 'LLM_CONTEXT_TOKENS',
  'llm-max-output-tokens': 'LLM_MAX_OUTPUT_TOKENS',
  'reasoning-effort': 'LLM_REASONING_EFFORT',
  'llm-concurrency': 'LLM_CONCURRENCY',
  'llm-first-token-seconds': 'LLM_FIRST_TOKEN_SECONDS',
  'llm-price-input': 'LLM_PRICE_INPUT',
  'llm-price-output': 'LLM_PRICE_OUTPUT',
  'clone-token': 'HANDOFF_CLONE_TOKEN',
  'max-input-tokens': 'HANDOFF_MAX_INPUT_TOKENS',
  'max-cost': 'HANDOFF_MAX_COST',
  journal: 'HANDOFF_JOURNAL',
  'deadline-seconds': 'HANDOFF_DEADLINE_SECONDS',
  instructions: 'HANDOFF_INSTRUCTIONS',
} as const

const secretInputs = ['e2b-api-key', 'drive9-api-key', 'llm-api-key', 'clone-token', 'github-token'] as const

const modes = ['auto', 'summarise', 'comment', 'ask'] as const
type Mode = (typeof modes)[number]

export interface Options {
  mode: Mode
  question: string
  /** Which run a question is about: a run id, a commit id or a ref. */
  run: string
  fresh: boolean
  depth: Depth | undefined
  allow: AskLevel
  force: boolean
  form: 'tar' | 'plain'
  include: string[]
  exclude: string[]
  endpoint: string
  waitSeconds: number
  allowUntrustedHead: boolean
  /** What the comment on a pull request has. */
  commentParts: ReadonlySet<ChangePart>
  githubToken: string
}

export function readOptions(runner: Pick<Runner, 'input' | 'flag'>): Options {
  const text = runner.input
  return {
    mode: choice(text('mode') || 'auto', 'mode', modes),
    question: text('question'),
    run: text('run'),
    fresh: flag(runner, 'fresh'),
    depth: text('depth') === '' ? undefined : choice(text('depth'), 'depth', depths),
    allow: choice(text('allow') || 'write', 'allow', askLevels),
    force: flag(runner, 'force'),
    form: choice(text('form') || 'tar', 'form', ['tar', 'plain']),
    include: list(text('include')),
    exclude: list(text('exclude')),
    endpoint: address(text('endpoint')),
    waitSeconds: seconds(text('wait-for-run')),
    allowUntrustedHead: flag(runner, 'allow-untrusted-head'),
    commentParts: parts(text('comment-parts')),
    githubToken: text('github-token'),
  }
}

/** Returns the settings by environment name. */
export function readSettings(runner: Pick<Runner, 'input'>): Record<string, string> {
  return Object.fromEntries(Object.entries(settingInputs).map(([input, setting]) => [setting, runner.input(input)]))
}

export function secretValues(runner: Pick<Runner, 'input'>): string[] {
  return [...new Set(secretInputs.map((name) => runner.input(name)))].filter((value) => value !== '')
}

/** Replaces setting names by input names: `E2B_API_KEY` becomes `e2b-api-key`. Names of secrets and variables stay, since they cannot have dashes. */
export function useInputNames(text: string): string {
  return Object.entries(settingInputs).reduce(
    (words, [input, setting]) => words.replace(new RegExp(`(?<!\\b(?:secrets|vars)\\.)\\b${setting}\\b`, 'g'), input),
    text,
  )
}

function choice<T extends string>(text: string, name: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === text.toLowerCase())
  if (found !== undefined) return found
  throw refuse(`The input ${name} is none of ${allowed.join(', ')}.`, `Write ${name}: ${allowed[0]}.`)
}

/** Replaces the package's two-line error, which gives no advice. */
function flag(runner: Pick<Runner, 'flag'>, name: string): boolean {
  try {
    return runner.flag(name)
  } catch {
    throw refuse(`The input ${name} is neither true nor false.`, `Write ${name}: true or ${name}: false.`)
  }
}

/** One pattern on a line. */
function list(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** Separated by commas, spaces or lines; all when empty. */
function parts(text: string): ReadonlySet<ChangePart> {
  const words = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '')
  const unknown = words.find((word) => !changeParts.some((part) => part === word))
  if (unknown !== undefined) {
    throw refuse(
      `The input comment-parts has ${quote(unknown)}, which is none of ${changeParts.join(', ')}.`,
      'Write comment-parts: sentences, ripples, files.',
    )
  }
  return new Set(words.length === 0 ? changeParts : changeParts.filter((part) => words.includes(part)))
}

function seconds(text: string): number {
  const value = Number(text || '0')
  if (Number.isFinite(value) && value >= 0 && value <= 3_600) return value
  throw refuse('The input wait-for-run is no number of seconds up to 3600.', 'Write wait-for-run: 300.')
}

function address(text: string): string {
  if (text === '') return ''
  const url = parseHttpUrl(text)
  if (url && isSecure(url) && url.search === '' && url.hash === '') return withoutTrailingSlashes(text)
  throw refuse(
    'The input endpoint is not an https address of a deployment.',
    'Write it like https://handoff.example.com, without a path to a function.',
  )
}

const refuse = (message: string, next: string) => new HandoffError('invalid-input', message, { next })
