// Creates the contexts of what reads run directories: no sandbox, no model and no budget.
import { randomBytes } from 'node:crypto'
import { makeDrive } from './clients/drive9/client.js'
import type { GitHostConfig } from './clients/git/ls-remote.js'
import { systemClock } from './clients/system-clock.js'
import type { LookupContext, ReadContext } from './context.js'
import type { DriveSettings, LookupSettings } from './domain/drive-settings.js'
import type { GitHost } from './domain/ports.js'
import { lazy } from './util/lazy.js'

export function createReadContext(
  { server, apiKey, objectHosts, root }: DriveSettings,
  cloneToken?: string,
): ReadContext {
  const drive = makeDrive({ server, key: apiKey, hosts: objectHosts })
  return { ports: { drive, git: gitLater({ token: cloneToken }), clock: systemClock }, root }
}

export function createLookupContext({ drive, model, depth, cloneToken }: LookupSettings): LookupContext {
  const { ports, root } = createReadContext(drive, cloneToken)
  return { ports: { ...ports, model: { name: model }, uniqueId, emit: () => {} }, root, limits: { depth } }
}

export function gitLater(config: GitHostConfig): GitHost {
  const gitHost = lazy(async () => (await import('./clients/git/ls-remote.js')).makeGitHost(config))
  return { heads: async (...call) => (await gitHost()).heads(...call) }
}

/** Ids that sort by time: nine base-36 digits of milliseconds, then sixty-four random bits. Lowercase letters and digits only. */
export function uniqueId(): string {
  const time = Date.now().toString(36).padStart(9, '0')
  const chance = BigInt(`0x${randomBytes(8).toString('hex')}`)
    .toString(36)
    .padStart(13, '0')
  return `${time}${chance}`
}
