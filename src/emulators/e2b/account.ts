// What an account may do, and the checks of the control plane that follow from it. The sentences are the real service's, as far as known.

import { Refusal } from './connect-protocol.js'
import type { NetworkRules } from './sandbox.js'

export interface Account {
  /** Sandboxes that may run at once. */
  concurrentLimit: number
  /** Whether it may say which hosts a sandbox reaches. */
  egressRules: boolean
  /** Whether it may have headers added to a sandbox's requests on their way out. */
  headerTransforms: boolean
  maximumLifetimeHours: number
}

export function checkLifetime(account: Account, seconds: unknown): number {
  const lifetime = seconds ?? 300
  if (typeof lifetime !== 'number' || !Number.isInteger(lifetime) || lifetime < 0)
    throw new Refusal(400, 'Error when parsing request: timeout must be a whole number of seconds')
  if (lifetime > account.maximumLifetimeHours * 3600)
    throw new Refusal(400, `Timeout cannot be greater than ${account.maximumLifetimeHours} hours`)
  return lifetime
}

export function checkRoom(account: Account, running: number): void {
  if (running < account.concurrentLimit) return
  const limit = account.concurrentLimit
  throw new Refusal(429, `you have reached the maximum number of concurrent E2B sandboxes (${limit}).`)
}

export function checkNetwork(account: Account, value: unknown): NetworkRules | undefined {
  if (value === undefined || value === null) return undefined
  const network = value as NetworkRules & { egressProxy?: unknown }
  const limits =
    network.allowOut !== undefined || network.denyOut !== undefined || network.allow_internet_access === false
  if (limits && !account.egressRules) throw new Refusal(403, 'Network egress rules are not available for your team.')
  if (network.rules && !account.headerTransforms)
    throw new Refusal(400, 'Network transform rules are not available for your team.')
  if (network.egressProxy) throw new Refusal(403, 'Egress proxy (network.egressProxy) is not enabled for this team.')
  checkHosts(network)
  return network
}

const address = /^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?$/
const domain = /^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/i

function checkHosts({ allowOut = [], denyOut = [], rules = {} }: NetworkRules): void {
  const wrong = denyOut.find((entry) => !address.test(entry))
  if (wrong !== undefined) throw new Refusal(400, `invalid denied CIDR ${wrong}`)
  const odd = allowOut.find((entry) => !address.test(entry) && !domain.test(entry))
  if (odd !== undefined) throw new Refusal(400, `invalid allowed address ${odd}`)
  const domains = allowOut.some((entry) => !address.test(entry))
  if (domains && !denyOut.includes('0.0.0.0/0'))
    throw new Refusal(400, "When specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out")
  const strange = Object.keys(rules).find((host) => !domain.test(host))
  if (strange !== undefined) throw new Refusal(400, `Rule domain "${strange}" is not a valid domain name.`)
}

const unsupported: [option: string, isAsked: (value: unknown) => boolean, status: number, sentence: string][] = [
  ['mcp', Boolean, 501, 'the local cloud has no MCP gateway'],
  ['iam', Boolean, 400, 'Sandbox IAM workload tokens are not available for your team.'],
  ['volumeMounts', (value) => Array.isArray(value) && value.length > 0, 400, 'Volume mounts are not enabled.'],
  [
    'autoResume',
    (value) => (value as { enabled?: boolean } | undefined)?.enabled === true,
    501,
    'the local cloud does not resume by itself',
  ],
]

/** What a request asks for and the cloud does not have; refused rather than passed over. */
export function checkOptions(body: Record<string, unknown>): void {
  for (const [option, isAsked, status, sentence] of unsupported)
    if (isAsked(body[option])) throw new Refusal(status, sentence)
}
