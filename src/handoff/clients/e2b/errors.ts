// What the E2B SDK throws, and what we say instead: one table.
//
// The SDK throws its own classes, platform errors (DOMException, «fetch failed») and, when a reply makes no sense, anything. Its messages may
// carry the output of commands or headers we sent, so none of their words go into ours; the error itself is kept as the cause.
import { type ErrorCode, errorCode, HandoffError } from '../../domain/errors.js'

/** What is known of a failure without trusting its words. */
interface Failure {
  name: string
  /** Thrown by the platform and not by the SDK, which has a TimeoutError of its own. */
  platform: boolean
  /** The HTTP status, where the SDK tells it. */
  status: number | undefined
  message: string
  /** The machine's time was up when this happened. */
  lifetimeOver: boolean
}

interface ErrorRow {
  row: string
  when: (failure: Failure) => boolean
  code: ErrorCode
  says: string
  next?: string
}

const is = (name: string, text = /(?:)/) => {
  return (failure: Failure) => !failure.platform && failure.name === name && text.test(failure.message)
}
const hasStatus = (from: number, to = from) => {
  return ({ status }: Failure) => status !== undefined && status >= from && status <= to
}
const ended = (failure: Failure) =>
  is('SandboxNotFoundError')(failure) || is('TimeoutError', /was killed or reached|sandbox timeout/)(failure)

/** The first row that fits is the one. */
export const errorRows: ErrorRow[] = [
  {
    row: 'key refused',
    when: is('AuthenticationError', /credentials|API key/),
    code: 'missing-setting',
    says: 'E2B does not accept the key',
    next: 'Check E2B_API_KEY: it is shown once, when it is made, in the dashboard of E2B.',
  },
  {
    row: 'not let into the machine',
    when: is('AuthenticationError'),
    code: 'sandbox',
    says: 'the sandbox does not know us or has no user named root',
  },
  {
    row: 'account full',
    when: is('RateLimitError'),
    code: 'sandbox-limit',
    says: 'the E2B account has no room for another sandbox now, or asks us to slow down',
    next: 'Try again when other sandboxes have ended, or raise the limit of the E2B account.',
  },
  {
    row: 'service full',
    when: is('ServiceBusyError'),
    code: 'sandbox-limit',
    says: 'E2B has no machine free now',
    next: 'Try again in a minute.',
  },
  {
    row: 'template too old',
    when: is('TemplateError'),
    code: 'missing-setting',
    says: 'the template was built for an older E2B',
    next: 'Build it anew with `npm run template`.',
  },
  {
    row: 'no such template',
    when: hasStatus(404),
    code: 'missing-setting',
    says: 'E2B does not have what we named: this account has no such template or sandbox',
    next: 'Leave E2B_TEMPLATE empty, build that template with `npm run template`, or check E2B_API_URL if it is set.',
  },
  {
    row: 'not allowed',
    when: hasStatus(403),
    code: 'sandbox',
    says: 'the E2B account may not do this',
    next: 'Look in the dashboard of E2B what the plan allows.',
  },
  {
    row: 'request refused',
    when: hasStatus(400, 499),
    code: 'sandbox',
    says: 'E2B refuses the request',
    next: 'The usual reason is a lifetime longer than the plan allows: one hour on a free plan.',
  },
  {
    row: 'service failed',
    when: hasStatus(500, 599),
    code: 'sandbox',
    says: 'E2B failed with an error of its own',
    next: 'Try again; status.e2b.dev tells whether others see it too.',
  },
  {
    row: 'no reply',
    when: ({ platform, name }) => platform && name === 'TimeoutError',
    code: 'timeout',
    says: 'E2B did not answer in time',
    next: 'Try again; status.e2b.dev tells whether others see it too.',
  },
  {
    row: 'unreachable',
    when: ({ platform, name, message }) => platform && name === 'TypeError' && /fetch failed|terminated/.test(message),
    code: 'sandbox',
    says: 'E2B cannot be reached, or the connection broke',
    next: 'Check the network, and E2B_DOMAIN if it is set.',
  },
  {
    row: 'command took too long',
    when: is('TimeoutError', /^\[deadline_exceeded\]/),
    code: 'timeout',
    says: 'the command did not end in the time it was given',
  },
  {
    row: 'machine at its end',
    when: (failure) => ended(failure) && failure.lifetimeOver,
    code: 'timeout',
    says: 'the sandbox reached the end of its lifetime',
    next: 'Give it more time.',
  },
  {
    row: 'machine gone',
    when: ended,
    code: 'sandbox',
    says: 'the sandbox is gone: it was killed, or it died',
    next: 'Try again.',
  },
  {
    row: 'machine silent',
    when: is('TimeoutError'),
    code: 'timeout',
    says: 'the sandbox did not answer in time',
    next: 'Try again.',
  },
  {
    row: 'command refused',
    when: is('InvalidArgumentError'),
    code: 'sandbox',
    says: 'the sandbox cannot start the command as it is, mostly because it is too long',
  },
  {
    row: 'build failed',
    when: (failure) => is('BuildError')(failure) || is('FileUploadError')(failure),
    code: 'sandbox',
    says: 'the build of the template failed; its log says where',
  },
  {
    row: 'connection lost',
    when: is('SandboxError', /terminated|connection|network/i),
    code: 'sandbox',
    says: 'the connection to the sandbox was lost while the command ran',
    next: 'Try again.',
  },
  {
    row: 'not understood',
    when: () => true,
    code: 'sandbox',
    says: 'E2B answered something that its own library does not understand',
    next: 'Check that E2B_DOMAIN, E2B_API_URL and E2B_SANDBOX_URL, if they are set, name an E2B service.',
  },
]

/** `doing` begins the sentence: «Creating a sandbox». */
export function explainFailure(error: unknown, doing: string, lifetimeOver = false): HandoffError {
  if (error instanceof HandoffError) return error
  const { code, says, next } = rowFor(error, lifetimeOver)
  const status = failureOf(error).status
  const number = status === undefined ? '' : ` (HTTP ${status})`
  return new HandoffError(code, `${doing} failed: ${says}${number}.`, { cause: error, next })
}

export function rowFor(error: unknown, lifetimeOver = false): ErrorRow {
  const failure = { ...failureOf(error), lifetimeOver }
  return errorRows.find((row) => row.when(failure)) as ErrorRow
}

export function failureOf(error: unknown): Omit<Failure, 'lifetimeOver'> {
  if (!(error instanceof Error)) return { name: typeof error, platform: true, status: undefined, message: '' }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined
  const platform = error instanceof DOMException || error instanceof TypeError
  return { name: error.name, platform, status, message: error.message }
}

/** True when the request was answered, or never left: nothing can have come of it. */
export function isWithoutEffect(error: unknown): boolean {
  const { name, status } = failureOf(error)
  const answered = [
    'AuthenticationError',
    'RateLimitError',
    'ServiceBusyError',
    'InvalidArgumentError',
    'TemplateError',
  ]
  if (answered.includes(name) || (status !== undefined && status < 500)) return true
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH'].includes(errorCode(error) ?? '')
}

/** A command that ends with another code than 0 is an error to the SDK, and none to us. */
export function exitCodeOf(error: unknown): number | undefined {
  const ended = error instanceof Error && error.name === 'CommandExitError' && 'exitCode' in error
  return ended && typeof error.exitCode === 'number' ? error.exitCode : undefined
}
