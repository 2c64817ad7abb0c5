// Creates a sandbox without leaving an orphan.
//
// E2B has no idempotency key: when the reply to a create call is lost, a sandbox may run and cost money. So each create call sets a unique metadata
// tag. After a lost reply we find the sandbox by that tag, and keep or kill it.
import type { Sandbox as SdkSandbox } from 'e2b'
import { abortError } from '../../domain/errors.js'
import type { SandboxRequest } from '../../domain/ports.js'
import { explainFailure, isWithoutEffect } from './errors.js'
import { keepAlive, untilKey } from './keep-alive.js'
import {
  allowedOptions,
  giveUp,
  type NetworkOptions,
  networkOf,
  type RefusedOption,
  refusedOption,
} from './network-options.js'
import { findSandboxes, killSandbox, lower, pause, type Service, replied as withReply } from './sdk-calls.js'

export interface Created {
  sandbox: SdkSandbox
  template: string
  options: NetworkOptions
  /** Ends the renewals of the machine's life. */
  letDie: () => void
}

const requestWord = 'handoff-request'
/** How long a request that was aborted may still answer: killing a known machine is surer than looking for an unknown one. */
const graceMs = 1_000
const sweepMs = 15_000
/** When to look: a request that we gave up may be carried out a moment later. */
const lookWaits = [0, 250, 750]

export async function createSandbox(
  service: Service,
  request: SandboxRequest,
  template: string,
  moreHosts: string[],
  signal: AbortSignal,
): Promise<Created> {
  let options = allowedOptions(service, request)
  const until = Date.now() + request.lifetimeMs
  const refusals: RefusedOption[] = []
  for (;;) {
    try {
      const sandbox = await createOnce(
        service,
        { ...request, until },
        template,
        networkOf(request, options, moreHosts),
        signal,
      )
      // Now it is known that they were the reason: what is refused without them too was refused for another.
      for (const refused of refusals) giveUp(service, refused)
      return { sandbox, template, options, letDie: keepAlive(service, sandbox.sandboxId, until) }
    } catch (error) {
      const refused = refusedOption(error, options)
      if (refused === undefined) throw explainFailure(error, doingOf(template))
      refusals.push(refused)
      options = { ...options, [refused.option]: false }
    }
  }
}

const doingOf = (template: string) => `Creating a sandbox from the template ${template}`

async function createOnce(
  service: Service,
  request: SandboxRequest & { until: number },
  template: string,
  network: ReturnType<typeof networkOf>,
  signal: AbortSignal,
): Promise<SdkSandbox> {
  const doing = lower(doingOf(template))
  if (signal.aborted) throw abortError(signal, doing)
  const { Sandbox } = await service.sdk()
  const word = crypto.randomUUID()
  const stop = new AbortController()
  const creating = withReply(service, stop.signal, (connection) =>
    Sandbox.create(template, {
      ...connection,
      metadata: {
        ...request.metadata,
        [requestWord]: word,
        [untilKey]: new Date(request.until).toISOString(),
      },
      timeoutMs: request.lifetimeMs,
      lifecycle: { onTimeout: 'kill' },
      ...(Object.keys(network).length > 0 ? { network } : {}),
    }),
  )
  const outcome = await settle(creating, signal, stop)
  if (signal.aborted) {
    await removeSandbox(service, outcome, word)
    throw abortError(signal, doing)
  }
  if (outcome.sandbox) return outcome.sandbox
  if (isWithoutEffect(outcome.error)) throw outcome.error
  try {
    return await adopt(service, word, request.lifetimeMs, outcome.error, signal)
  } catch (error) {
    if (error !== outcome.error) await removeSandbox(service, outcome, word)
    throw signal.aborted ? abortError(signal, doing) : error
  }
}

interface Outcome {
  sandbox?: SdkSandbox
  error?: unknown
}

/** Waits for the reply; once the caller wants to stop, only for a moment more. */
async function settle(creating: Promise<SdkSandbox>, signal: AbortSignal, stop: AbortController): Promise<Outcome> {
  let clock: NodeJS.Timeout | undefined
  const hurry = () => {
    clock = setTimeout(() => stop.abort(signal.reason), graceMs)
  }
  if (signal.aborted) hurry()
  else signal.addEventListener('abort', hurry, { once: true })
  try {
    return { sandbox: await creating }
  } catch (error) {
    return { error }
  } finally {
    signal.removeEventListener('abort', hurry)
    clearTimeout(clock)
  }
}

/** The reply is lost. Keeps the machine that was made, kills what was made more than once; when there is none, that is the error. */
async function adopt(
  service: Service,
  word: string,
  lifetimeMs: number,
  lost: unknown,
  signal: AbortSignal,
): Promise<SdkSandbox> {
  const [first, ...others] = await findByTag(service, word, signal)
  if (first === undefined) throw lost
  await Promise.all(others.map((id) => killSandbox(service, id, signal)))
  const { Sandbox } = await service.sdk()
  return withReply(service, signal, (connection) => Sandbox.connect(first, { ...connection, timeoutMs: lifetimeMs }))
}

/** Kills the sandbox of a failed create call, found by its tag where its id is unknown. */
async function removeSandbox(service: Service, outcome: Outcome, word: string): Promise<void> {
  const sweep = AbortSignal.timeout(sweepMs)
  const unknown = !outcome.sandbox && !isWithoutEffect(outcome.error)
  // Whatever fails here, the caller hears why the creation failed; the sandbox ends by its lifetime.
  const looked = unknown ? await findByTag(service, word, sweep).catch(() => []) : []
  const known = outcome.sandbox ? [outcome.sandbox.sandboxId] : looked
  await Promise.allSettled(known.map((id) => killSandbox(service, id, sweep)))
}

async function findByTag(service: Service, word: string, signal: AbortSignal): Promise<string[]> {
  for (const milliseconds of lookWaits) {
    await pause(milliseconds, signal, 'looking for a sandbox whose creation was not answered')
    const found = await findSandboxes(service, { [requestWord]: word }, signal)
    if (found.length > 0) return found.map(({ id }) => id)
  }
  return []
}
