// The environment becomes the service, once per process. What a question needs as long as its answer may be in the ledger is here at once; the rest
// of the house, and both SDKs, are loaded when somebody needs them.

import type * as Product from '../handoff/index.js'
import {
  connect,
  HandoffError,
  isHandoffError,
  makeRedactor,
  makeService,
  parseSettings,
  secretsIn,
  systemClock,
} from '../handoff/stored-answer.js'
import { cleanLogBy, environmentHere, settingsHere } from './define-function.js'
import type { Environment, ServiceSettings } from './settings.js'
import { withOurKey } from './upstream-auth-errors.js'

export interface Door {
  environment: Environment
  settings: ServiceSettings
  /** All of the house. */
  context(): Promise<typeof Product>
  /** The service; rejects with `missing-setting` where it cannot be. One for each model that may be asked. */
  service(model?: string): Promise<Product.Service>
  verifier(): Promise<Product.OidcVerifier>
  /** The line to GitHub; rejects where nobody gave us a word to say there. */
  github(): Promise<Product.GitHub>
  hasGitHub: boolean
}

/** Our own time runs, and somebody waits: a model's service that asks for longer waits than this is answered as one that limits us. */
const hastyModel = { retries: 1, longestWaitMs: 8_000, totalMs: 180_000 }

/** Beside the bundle first, then as seen from here. */
async function askProgram(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(new URL('../guest-ask.js', import.meta.url), 'utf8').catch(() =>
    readFile(new URL('../../dist/guest-ask.js', import.meta.url), 'utf8'),
  )
}

function openDoor(environment: Environment): Door {
  const settings = settingsHere()
  const services = new Map<string, Promise<Product.Service>>()
  let verifying: Promise<Product.OidcVerifier> | undefined
  let github: Promise<Product.GitHub> | undefined
  const secrets = secretsIn(environment)
  const redact = makeRedactor(secrets)
  cleanLogBy(redact)
  const context = () => import('../handoff/index.js')

  async function newService(model: string | undefined): Promise<Product.Service> {
    const parsed = settingsOf(environment)
    const name = model ?? parsed.model.name
    const wired = connect(
      { ...parsed, model: { ...parsed.model, name, ...hastyModel } },
      {
        program: askProgram,
        emit: () => {},
        secrets,
        redact,
      },
    )
    const drive = withOurKey(wired.ports.drive, 'drive')
    return makeService({ ...wired, ports: { ...wired.ports, drive } }, settings.limits, systemClock)
  }

  async function makeVerifier(): Promise<Product.OidcVerifier> {
    const { makeOidcVerifier } = await context()
    if (settings.oidc) return makeOidcVerifier(settings.oidc)
    throw new HandoffError('unauthorized', 'Jobs of GitHub Actions are not let in here.')
  }

  async function makeGitHubLine(): Promise<Product.GitHub> {
    const { makeGitHub } = await context()
    const { apiUrl, serverUrl, token, app } = settings.github
    const credentials = app
      ? { appId: app.id, privateKey: app.privateKey }
      : token === undefined
        ? undefined
        : { token }
    if (credentials) {
      const line = makeGitHub({ apiUrl, serverUrl, credentials, userAgent: 'handoff', maximumWaitMs: 20_000 })
      return withOurKey(line, 'git')
    }
    throw new HandoffError('missing-setting', 'There is nothing to write comments with.', {
      next: 'Set HANDOFF_GITHUB_TOKEN, or HANDOFF_APP_ID and HANDOFF_APP_PRIVATE_KEY.',
    })
  }

  return {
    environment,
    settings,
    context,
    service(model) {
      const key = model ?? ''
      const known = services.get(key) ?? newService(model)
      services.set(key, known)
      // What could not be made is tried again by the next request.
      known.catch(() => services.delete(key))
      return known
    },
    verifier: () => (verifying ??= makeVerifier()),
    github: () => (github ??= makeGitHubLine()),
    hasGitHub: settings.github.token !== undefined || settings.github.app !== undefined,
  }
}

/** What the operator set and nobody can read is not the caller's mistake. */
function settingsOf(environment: Environment) {
  try {
    return parseSettings(environment)
  } catch (error) {
    if (!isHandoffError(error, 'invalid-input')) throw error
    const { message, next } = error
    throw new HandoffError('missing-setting', message, { cause: error, ...(next === undefined ? {} : { next }) })
  }
}

let opened: Door | undefined

/** The door of this process. */
export function door(): Door {
  opened ??= openDoor(environmentHere())
  return opened
}
