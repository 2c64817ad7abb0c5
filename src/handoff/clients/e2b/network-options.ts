// What an account may not have: limits on egress, headers added outside the machine. A refused option is given up, remembered for as long as
// the process lives, and reported once.
import type { SandboxRequest } from '../../domain/ports.js'
import { failureOf } from './errors.js'
import type { Service } from './sdk-calls.js'

export interface NetworkOptions {
  egress: boolean
  headers: boolean
}

type NetworkOption = keyof NetworkOptions

const refusedByAccount = new Map<string, Set<NetworkOption>>()

export function allowedOptions({ settings }: Service, request: SandboxRequest): NetworkOptions {
  const refused = refusedByAccount.get(accountOf(settings))
  return {
    egress: !refused?.has('egress'),
    headers: !refused?.has('headers') && (request.injectHeaders?.length ?? 0) > 0,
  }
}

export interface RefusedOption {
  option: NetworkOption
  /** For this request, and not because the account does not have it. */
  once: boolean
}

/** Which option an answer refuses, of those that were asked for; nothing when the answer is about something else. */
export function refusedOption(error: unknown, asked: NetworkOptions): RefusedOption | undefined {
  const { status, message } = failureOf(error)
  if (status !== 400 && status !== 403) return undefined
  if (asked.headers && /rule domain/i.test(message)) return { option: 'headers', once: true }
  if (!/not (available|enabled|supported)/i.test(message)) return undefined
  if (asked.egress && /egress|internet/i.test(message)) return { option: 'egress', once: false }
  if (asked.headers) return { option: 'headers', once: false }
  return asked.egress ? { option: 'egress', once: false } : undefined
}

const sentences: Record<NetworkOption, string> = {
  egress: 'This E2B account cannot limit which hosts a sandbox reaches; sandboxes run without that limit.',
  headers: 'E2B cannot add headers to requests outside the sandbox here; a credential has to go into it.',
}

export function giveUp(service: Service, { option, once }: RefusedOption): void {
  const account = accountOf(service.settings)
  const refused = refusedByAccount.get(account) ?? new Set()
  if (!refused.has(option)) service.notice(sentences[option])
  if (!once) refusedByAccount.set(account, refused.add(option))
}

const accountOf = ({ apiKey, domain = '', apiUrl = '' }: Service['settings']) => [apiKey, domain, apiUrl].join(' ')

/** What the SDK is given. A list of hosts means something only when everything else is denied. */
export function networkOf(
  request: Pick<SandboxRequest, 'egress' | 'injectHeaders'>,
  options: NetworkOptions,
  moreHosts: string[] = [],
) {
  const hosts = [...new Set([...request.egress, ...moreHosts].map(withoutPort))]
  const rules = (request.injectHeaders ?? []).map(({ host, headers }) => [
    withoutPort(host),
    [{ transform: { headers } }],
  ])
  return {
    ...(options.egress ? { allowOut: hosts, denyOut: ['0.0.0.0/0'] } : {}),
    ...(options.headers ? { rules: Object.fromEntries(rules) as Rules } : {}),
  }
}

type Rules = Record<string, { transform: { headers: Record<string, string> } }[]>

/** The service knows hosts, not ports. */
const withoutPort = (host: string) => host.replace(/:\d+$/, '')
