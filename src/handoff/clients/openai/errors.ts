// What a failure of the model's service means: our error with its sentence, and whether another attempt makes sense.
//
// The package's errors never leave this file. What the service wrote is shown shortly and without the key; what it wrote about the key is
// not shown at all.
import type OpenAI from 'openai'
import { type ErrorDetails, errorCode, HandoffError, isHandoffError } from '../../domain/errors.js'
import { quote } from '../../domain/run.js'
import { retryAfterMs } from '../../util/retry.js'
import { NoReply } from './stream.js'

export interface Failure {
  error: unknown
  /** Another attempt may succeed and costs nothing twice, as long as no text was handed out. */
  retry: boolean
  /** How long the service asks us to wait. */
  waitMs?: number | undefined
  /** The service has too much to do at once. */
  busy?: boolean
}

interface Service {
  host: string
  model: string
  key: string
  errors: ServiceErrors
}

/** The package's own classes, which are there only once it is loaded. */
export type ServiceErrors = Pick<typeof OpenAI, 'APIError' | 'APIConnectionError'>

/** How long to wait before it makes sense to ask again, where the service does not say. */
const defaultRetrySeconds = 5

/** A transient failure gets a `Retry-After`; a failure that needs a change of settings does not. */
export function explainFailure(error: unknown, service: Service): Failure {
  const failure = classifyFailure(error, service)
  const original = failure.error
  if (!failure.retry || !isHandoffError(original) || original.retryAfterSeconds !== undefined) return failure
  const { code, message, next, cause } = original
  const more = { cause, retryAfterSeconds: defaultRetrySeconds, next }
  return { ...failure, error: new HandoffError(code, message, more) }
}

function classifyFailure(error: unknown, service: Service): Failure {
  if (isHandoffError(error)) return { error, retry: false }
  if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(errorCode(error) ?? ''))
    return { error: tooSilent(service), retry: false }
  if (error instanceof NoReply) return { error: noReply(error, service), retry: false }
  if (error instanceof service.errors.APIConnectionError) return unreachable(error, service)
  if (error instanceof service.errors.APIError) {
    return error.status === undefined ? explainStreamError(error, service) : explainStatus(error.status, error, service)
  }
  if (error instanceof SyntaxError)
    return { error: brokenReply(error, service, 'sent something that cannot be read'), retry: true }
  // `fetch` has one error for a connection that breaks after the headers.
  if (error instanceof TypeError && /terminated|network|socket|fetch/i.test(error.message)) {
    return { error: brokenReply(error, service, 'broke off in the middle of its reply'), retry: true }
  }
  return { error, retry: false }
}

/** Also what a check finds before anything is asked. */
export function keyRefused(host: string, status: number, details: ErrorDetails = {}): HandoffError {
  return new HandoffError('model', `The model’s service at ${host} does not accept the key (${status}).`, {
    ...details,
    next: 'Look at LLM_API_KEY, and whether it may use LLM_MODEL.',
  })
}

function noReply({ message, about, said }: NoReply, service: Service): HandoffError {
  const next = {
    address: 'Look at LLM_BASE_URL: it should be the address that ends before /chat/completions, often with /v1.',
    model: `Look at LLM_MODEL (${quote(service.model)}): the service may not have it, or not be ready for it.`,
  }[about]
  const words = said === undefined ? '' : ` (${quoteSafely(said, service)})`
  const what = `The model’s service at ${service.host} gave no reply: ${message}${words}.`
  return new HandoffError('model', what, {
    next,
    ...(about === 'model' ? { retryAfterSeconds: defaultRetrySeconds } : {}),
  })
}

/** 503 is what a server says whose queue is full. */
const isBusyStatus = (status: number) => status === 429 || status === 503

const transientStatuses = new Set([429, 500, 502, 503, 504, 529])

function explainStatus(status: number, error: InstanceType<typeof OpenAI.APIError>, service: Service): Failure {
  const waitMs = retryAfter(error.headers)
  const details = {
    cause: withoutKey(error, service),
    ...(waitMs === undefined ? {} : { retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
  }
  const fail = (code: 'model' | 'model-limit', message: string, next: string) =>
    new HandoffError(code, `The model’s service at ${service.host} ${message}`, { ...details, next })
  const said = quoteSafely(error.message.replace(/^\d+ /, ''), service)
  const again = transientStatuses.has(status)

  if (status === 401 || status === 403) return { error: keyRefused(service.host, status, details), retry: again }
  if (status === 404) {
    const what = `does not know the model ${quote(service.model)}, or the address is not its own (404).`
    return { error: fail('model', what, 'Look at LLM_MODEL and LLM_BASE_URL.'), retry: again }
  }
  if (error.code === 'insufficient_quota') {
    return {
      error: fail(
        'model-limit',
        'says that the account has no money left.',
        'Pay at the service, or set another LLM_API_KEY.',
      ),
      retry: false,
    }
  }
  if (error.code === 'context_length_exceeded' || /context.{0,20}(length|size)/i.test(error.message)) {
    return {
      error: fail(
        'model',
        `says the request is too long: ${said}.`,
        'Set LLM_CONTEXT_TOKENS to what LLM_MODEL really takes.',
      ),
      retry: again,
    }
  }
  if (status === 429 || (again && waitMs !== undefined)) {
    const error = fail(
      'model-limit',
      `asks us to slow down (${status}).`,
      'Wait, ask less often, or raise the account’s limits.',
    )
    return { error, retry: again, busy: isBusyStatus(status), waitMs }
  }
  if (again) {
    return {
      error: fail('model', `failed (${status}: ${said}).`, 'Try again in a while.'),
      retry: again,
      busy: isBusyStatus(status),
    }
  }
  const next = /max_(completion_|output_)?tokens/.test(error.message)
    ? 'Set LLM_MAX_OUTPUT_TOKENS to what LLM_MODEL writes at most in one reply.'
    : 'Look at LLM_MODEL and LLM_BASE_URL.'
  return { error: fail('model', `refused the request (${status}: ${said}).`, next), retry: again }
}

/** Node's `fetch` waits no longer for headers, nor between two pieces of a body, whatever our patience is. */
const fetchSeconds = 300

function tooSilent({ host }: Service): HandoffError {
  return new HandoffError('timeout', `The model’s service at ${host} sent nothing for ${fetchSeconds} seconds.`, {
    next: 'No request is waited for longer than that. Lower LLM_CONCURRENCY or LLM_CONTEXT_TOKENS, or choose a faster model in LLM_MODEL.',
  })
}

function unreachable(error: Error, service: Service): Failure {
  const code = errorCode(error)
  const why = code === undefined ? '' : ` (${code})`
  const failure = new HandoffError('model', `The model’s service at ${service.host} cannot be reached${why}.`, {
    next: 'Look at LLM_BASE_URL, and whether the service runs.',
    cause: withoutKey(error, service),
  })
  return { error: failure, retry: true }
}

/** An error that came as a piece of the stream, or in the place of one. Numbers in it are statuses, as routers pass them on. */
function explainStreamError(error: InstanceType<typeof OpenAI.APIError>, service: Service): Failure {
  const code: unknown = error.code
  const limited = Number(code) === 429 || /rate_limit/.test(String(code))
  const again =
    limited ||
    transientStatuses.has(Number(code)) ||
    /server_error|overloaded|unavailable|timeout/.test(`${code} ${error.type}`)
  const message = `The model’s service at ${service.host} ended its reply with an error: ${quoteSafely(error.message, service)}.`
  return {
    error: new HandoffError(limited ? 'model-limit' : 'model', message, {
      next: 'Try again in a while; if it stays so, look at LLM_MODEL.',
      cause: withoutKey(error, service),
    }),
    retry: again,
  }
}

function brokenReply(error: Error, service: Service, what: string): HandoffError {
  return new HandoffError('model', `The model’s service at ${service.host} ${what}.`, {
    next: 'Try again; if it stays so, look at what stands between here and the service.',
    cause: withoutKey(error, service),
  })
}

/** Seconds or a date, or milliseconds in the form that some services add. */
function retryAfter(headers: Headers | undefined): number | undefined {
  const exact = Number.parseFloat(headers?.get('retry-after-ms') ?? '')
  if (exact >= 0) return exact
  return retryAfterMs(headers?.get('retry-after'), Date.now())
}

const quoteSafely = (text: string, { key }: Service) => quote(text.replaceAll(key, '…'))

/** For people who debug: what kind of error it was and what it said, and nothing else of it. */
function withoutKey(error: Error, { key }: Service): Error {
  return new Error(`${error.constructor.name}: ${error.message.replaceAll(key, '…')}`)
}
