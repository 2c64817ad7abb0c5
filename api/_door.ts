// The environment becomes the service, once per process and as late as can be: a refusal and a health check load nothing of the house.
import type * as Asking from '../src/handoff/asking.js'
import type * as House from '../src/handoff/index.js'
import type { Handler } from './_exchange.js'
import { type Served, serveWith, settingsHere } from './_here.js'
import { withOurKey } from './_own-keys.js'
import type { Environment, ServiceSettings } from './_settings.js'

export interface Door {
  environment: Environment
  settings: ServiceSettings
  /** What a question needs as long as its answer may be in the ledger; no settings are needed for the words. */
  asking(): Promise<typeof Asking>
  /** All of the house. */
  house(): Promise<typeof House>
  /** The service; rejects with `missing-setting` where it cannot be. One for each model that may be asked. */
  service(model?: string): Promise<House.Service>
  verifier(): Promise<House.OidcVerifier>
  /** The line to GitHub; rejects where nobody gave us a word to say there. */
  github(): Promise<House.GitHub>
  hasGitHub: boolean
  redactor: () => ((text: string) => string) | undefined
}

/** A model's service that asks for longer waits than this is answered as one that limits us: our own time runs. */
const longestModelWaitMs = 8_000

/** Beside the bundle first, then as seen from here. */
async function askProgram(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(new URL('../guest-ask.js', import.meta.url), 'utf8').catch(() =>
    readFile(new URL('../dist/guest-ask.js', import.meta.url), 'utf8'),
  )
}

function openDoor(environment: Environment): Door {
  const settings = settingsHere()
  const services = new Map<string, Promise<House.Service>>()
  let loading: Promise<typeof Asking> | undefined
  let verifying: Promise<House.OidcVerifier> | undefined
  let github: Promise<House.GitHub> | undefined
  let redact: ((text: string) => string) | undefined

  const asking = async () => {
    loading ??= import('../src/handoff/asking.js').then((loaded) => {
      redact = loaded.makeRedactor(loaded.secretsIn(environment))
      return loaded
    })
    return loading
  }

  const house = async () => {
    await asking()
    return import('../src/handoff/index.js')
  }

  async function makeService(model: string | undefined): Promise<House.Service> {
    const words = await asking()
    const { connect, makeService: make, systemClock } = words
    const parsed = settingsOf(words, environment)
    const name = model ?? parsed.model.name
    const wired = connect(
      { ...parsed, model: { ...parsed.model, name, longestWaitMs: longestModelWaitMs } },
      {
        program: askProgram,
        emit: () => {},
        secrets: words.secretsIn(environment),
        ...(redact === undefined ? {} : { redact }),
      },
    )
    const drive = withOurKey(wired.tools.drive, 'drive', words)
    return make({ ...wired, tools: { ...wired.tools, drive } }, settings.limits, systemClock)
  }

  async function makeVerifier(): Promise<House.OidcVerifier> {
    const { makeOidcVerifier, HandoffError } = await house()
    if (settings.oidc) return makeOidcVerifier(settings.oidc)
    throw new HandoffError('unauthorized', 'Jobs of GitHub Actions are not let in here.')
  }

  async function makeGitHubLine(): Promise<House.GitHub> {
    const { makeGitHub, HandoffError } = await house()
    const { apiUrl, serverUrl, token, app } = settings.github
    const credentials = app
      ? { appId: app.id, privateKey: app.privateKey }
      : token === undefined
        ? undefined
        : { token }
    if (credentials) {
      const line = makeGitHub({ apiUrl, serverUrl, credentials, userAgent: 'handoff', maximumWaitMs: 20_000 })
      return withOurKey(line, 'git', await house())
    }
    throw new HandoffError('missing-setting', 'There is nothing to write comments with.', {
      next: 'Set HANDOFF_GITHUB_TOKEN, or HANDOFF_APP_ID and HANDOFF_APP_PRIVATE_KEY.',
    })
  }

  return {
    environment,
    settings,
    asking,
    house,
    service(model) {
      const key = model ?? ''
      const known = services.get(key) ?? makeService(model)
      services.set(key, known)
      // What could not be made is tried again by the next request.
      known.catch(() => services.delete(key))
      return known
    },
    verifier: () => (verifying ??= makeVerifier()),
    github: () => (github ??= makeGitHubLine()),
    hasGitHub: settings.github.token !== undefined || settings.github.app !== undefined,
    redactor: () => redact,
  }
}

/** What the operator set and nobody can read is not the caller's mistake. */
function settingsOf({ parseSettings, isHandoffError, HandoffError }: typeof Asking, environment: Environment) {
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
  opened ??= openDoor(process.env)
  return opened
}

export function serveHere(name: string, seconds: number, methods: Record<string, Handler>): Served {
  return serveWith(name, seconds, methods, () => door().redactor())
}
