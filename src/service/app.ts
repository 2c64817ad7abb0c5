// Creates the service from the environment, once per process. The product and the SDKs are loaded where they are first needed: a refusal needs none
// of them, and a stored answer the small part of index-for-stored-answers.ts.
import type * as Product from '../handoff/index.js'
import { lazy } from '../handoff/util/lazy.js'
import { reportedAs } from '../handoff/util/reported-as.js'
import type { RepositoryAccess } from './auth/repository-access.js'
import { processEnvironment, serviceSettings, writeLog } from './define-function.js'
import type { ServiceSettings } from './settings.js'

export interface App {
  settings: ServiceSettings
  /** The drive9 owner key, which signs jobs. */
  ownerKey: string
  product(): Promise<typeof Product>
  /** What reads run directories, and finds the stored answers of a model. */
  lookup(model?: string): Promise<Product.LookupContext>
  /** What answers questions, one context per model. Rejects with `missing-setting` when the service cannot answer. */
  context(model?: string): Promise<Product.AppContext>
  /** What is left of the caller's day, as this process saw it last. */
  budgetLeft(caller: string): ReturnType<Product.AppContext['budgets']['left']>
  verifier(): Promise<Product.OidcVerifier>
  /** Rejects when neither a token nor a GitHub App is set. */
  github(): Promise<Product.GitHub>
  /** Rejects when people cannot sign in here. */
  signIn(): Promise<{ github: Product.GitHubSignIn; access: RepositoryAccess }>
  hasGitHub: boolean
  /** One line of JSON, without secrets. */
  log(fields: Record<string, unknown>): Promise<void>
}

/** Model retries while a caller waits: a service that asks for a longer pause counts as busy. */
const impatientModel = { retries: 1, longestWaitMs: 8_000, totalMs: 180_000 }

async function searchProgram(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(new URL('../../dist/sandbox-search.js', import.meta.url), 'utf8')
}

function createApp(): App {
  const environment = processEnvironment()
  const settings = serviceSettings()
  const product = lazy(() => import('../handoff/index.js'))
  let budgets: Product.AppContext['budgets'] | undefined

  const lookup = oncePerModel(async (model) => {
    const { createLookupContext, parseLookupSettings } = await import('../handoff/index-for-stored-answers.js')
    const parsed = operatorsMistake(() => parseLookupSettings(environment))
    const context = createLookupContext({ ...parsed, model: model ?? parsed.model })
    return { ...context, ports: { ...context.ports, drive: reportKeyRefusals(context.ports.drive, 'drive') } }
  })

  /** What the questions of all models share. */
  const shared = lazy(async () => {
    const { makeAdmission, makeBudgets, makeRedactor, parseSettings, secretsIn } = await product()
    const parsed = operatorsMistake(() => parseSettings(environment))
    const secrets = secretsIn(environment)
    const wiring = { program: searchProgram, emit: () => {}, secrets, redact: makeRedactor(secrets) }
    const { ports, root } = await lookup()
    budgets = makeBudgets(ports.drive, root, settings.limits, ports.clock)
    return { parsed, wiring, budgets, admission: makeAdmission(settings.limits) }
  })

  const context = oncePerModel(async (model) => {
    const { createContext, budgetProblem } = await product()
    const { parsed, wiring, ...limits } = await shared()
    const { ports } = await lookup(model)
    const name = ports.model.name
    const created = createContext({ ...parsed, model: { ...parsed.model, name, ...impatientModel } }, wiring)
    const { tokensPerDay, costPerDay } = settings.limits
    if (tokensPerDay !== undefined || costPerDay !== undefined) {
      const problem = budgetProblem(settings.limits, created.ports.model, created.prices)
      if (problem) throw problem
    }
    return { ...created, ...limits, ports: { ...created.ports, drive: ports.drive } }
  })

  async function createVerifier(): Promise<Product.OidcVerifier> {
    const { HandoffError, makeOidcVerifier } = await product()
    if (settings.oidc) return makeOidcVerifier(settings.oidc)
    throw new HandoffError('unauthorized', 'This service does not accept GitHub Actions jobs.')
  }

  async function createGitHub(): Promise<Product.GitHub> {
    const { HandoffError, makeGitHub } = await product()
    const { apiUrl, serverUrl, token, app } = settings.github
    const credentials = app
      ? { appId: app.id, privateKey: app.privateKey }
      : token === undefined
        ? undefined
        : { token }
    if (credentials) {
      const client = makeGitHub({ apiUrl, serverUrl, credentials, userAgent: 'handoff', maximumWaitMs: 20_000 })
      return reportKeyRefusals(client, 'git')
    }
    throw new HandoffError('missing-setting', 'No GitHub credentials are set, so comments cannot be written.', {
      next: 'Set HANDOFF_GITHUB_TOKEN, or HANDOFF_APP_ID and HANDOFF_APP_PRIVATE_KEY.',
    })
  }

  async function createSignIn() {
    const { HandoffError, loadGitHubSignIn } = await import('../handoff/index-for-stored-answers.js')
    const [{ makeGitHubSignIn }, { makeRepositoryAccess }] = await Promise.all([
      loadGitHubSignIn(),
      import('./auth/repository-access.js'),
    ])
    if (!settings.signIn) throw new HandoffError('not-found', 'People cannot sign in to this service.')
    const github = makeGitHubSignIn({ ...settings.github, ...settings.signIn })
    return { github, access: makeRepositoryAccess(github) }
  }

  return {
    settings,
    ownerKey: environment['DRIVE9_API_KEY']?.trim() ?? '',
    product,
    lookup,
    context,
    budgetLeft: (caller) => budgets?.left(caller),
    verifier: lazy(createVerifier),
    github: lazy(createGitHub),
    signIn: lazy(createSignIn),
    hasGitHub: settings.github.token !== undefined || settings.github.app !== undefined,
    log: (fields) => writeLog({ at: new Date().toISOString(), ...fields }),
  }
}

/** A failure is forgotten: the next call tries again. */
function oncePerModel<T>(make: (model: string | undefined) => Promise<T>): (model?: string) => Promise<T> {
  const made = new Map<string | undefined, () => Promise<T>>()
  return (model) => {
    const known = made.get(model) ?? lazy(() => make(model))
    made.set(model, known)
    return known()
  }
}

/** An invalid setting is the operator's mistake and not the caller's. */
function operatorsMistake<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw reportedAs('missing-setting', error, 'invalid-input')
  }
}

let created: App | undefined

/** The app of this process. */
export function getApp(): App {
  created ??= createApp()
  return created
}

/** Wraps the client of a service: a rejected key of ours becomes an error of that service, and does not read as a rejected token of the caller. */
function reportKeyRefusals<T extends object>(client: T, code: Product.ErrorCode): T {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parts: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, parts)
        if (!(result instanceof Promise)) return result
        return result.catch((error: unknown) => {
          throw reportedAs(code, error, 'unauthorized', 'forbidden')
        })
      }
    },
  })
}
