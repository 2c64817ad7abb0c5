// Creates the service from the environment, once per process. This file imports only what a stored answer needs; the rest of the product and the
// SDKs are loaded on demand.
import type * as Product from '../handoff/index.js'
import {
  createContext,
  HandoffError,
  isHandoffError,
  lazy,
  loadGitHubSignIn,
  makeAdmission,
  makeBudgets,
  makeRedactor,
  parseSettings,
  secretsIn,
} from '../handoff/index-for-stored-answers.js'
import type { Environment } from '../handoff/util/setting-reader.js'
import type { RepositoryAccess } from './auth/repository-access.js'
import { processEnvironment, redactLogWith, serviceSettings } from './define-function.js'
import type { ServiceSettings } from './settings.js'

export interface App {
  settings: ServiceSettings
  /** The drive9 owner key, which signs jobs. */
  ownerKey: string
  product(): Promise<typeof Product>
  /** Creates one context per model. Rejects with `missing-setting` when the service cannot answer. */
  context(model?: string): Promise<Product.AppContext>
  verifier(): Promise<Product.OidcVerifier>
  /** Rejects when neither a token nor a GitHub App is set. */
  github(): Promise<Product.GitHub>
  /** Rejects when people cannot sign in here. */
  signIn(): Promise<{ github: Product.GitHubSignIn; access: RepositoryAccess }>
  hasGitHub: boolean
  /** One line of JSON, without secrets. */
  log(fields: Record<string, unknown>): void
}

/** Model retries while a caller waits: a service that asks for a longer pause counts as busy. */
const impatientModel = { retries: 1, longestWaitMs: 8_000, totalMs: 180_000 }

async function searchProgram(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(new URL('../../dist/sandbox-search.js', import.meta.url), 'utf8')
}

function createApp(environment: Environment): App {
  const settings = serviceSettings()
  const secrets = secretsIn(environment)
  const redact = makeRedactor(secrets)
  redactLogWith(redact)
  const product = lazy(() => import('../handoff/index.js'))
  const admission = makeAdmission(settings.limits)
  const contexts = new Map<string, () => Promise<Product.AppContext>>()

  async function contextWith(model: string | undefined): Promise<Product.AppContext> {
    const parsed = parsedSettings(environment)
    const name = model ?? parsed.model.name
    const created = createContext(
      { ...parsed, model: { ...parsed.model, name, ...impatientModel } },
      { program: searchProgram, emit: () => {}, secrets, redact },
    )
    await refuseImpossibleBudget(created, settings, product)
    const drive = reportKeyRefusals(created.ports.drive, 'drive')
    const budgets = makeBudgets(drive, created.root, settings.limits, created.ports.clock)
    return { ...created, ports: { ...created.ports, drive }, admission, budgets }
  }

  async function createVerifier(): Promise<Product.OidcVerifier> {
    const { makeOidcVerifier } = await product()
    if (settings.oidc) return makeOidcVerifier(settings.oidc)
    throw new HandoffError('unauthorized', 'This service does not accept GitHub Actions jobs.')
  }

  async function createGitHub(): Promise<Product.GitHub> {
    const { makeGitHub } = await product()
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
    context(model) {
      const key = model ?? ''
      const known = contexts.get(key) ?? lazy(() => contextWith(model))
      contexts.set(key, known)
      return known()
    },
    verifier: lazy(createVerifier),
    github: lazy(createGitHub),
    signIn: lazy(createSignIn),
    hasGitHub: settings.github.token !== undefined || settings.github.app !== undefined,
    log: (fields) => console.log(redact(JSON.stringify({ at: new Date().toISOString(), ...fields }))),
  }
}

/** Loads the product only when a budget is set, to compare it with the cost of one question. */
async function refuseImpossibleBudget(
  { ports, prices }: Product.AppContext,
  { limits }: ServiceSettings,
  product: App['product'],
): Promise<void> {
  if (limits.tokensPerDay === undefined && limits.costPerDay === undefined) return
  const { budgetProblem } = await product()
  const problem = budgetProblem(limits, ports.model, prices)
  if (problem) throw problem
}

/** Reports an invalid setting as `missing-setting`, because it is the operator's mistake and not the caller's. */
function parsedSettings(environment: Environment) {
  try {
    return parseSettings(environment)
  } catch (error) {
    if (!isHandoffError(error, 'invalid-input')) throw error
    const { message, next } = error
    throw new HandoffError('missing-setting', message, { cause: error, next })
  }
}

let created: App | undefined

/** The app of this process. */
export function getApp(): App {
  created ??= createApp(processEnvironment())
  return created
}

/** Wraps the client of a service: a rejected key of ours becomes an error of that service, and does not read as a rejected token of the caller. */
function reportKeyRefusals<T extends object>(client: T, code: Product.ErrorCode): T {
  const reported = (error: unknown) => {
    const ours = isHandoffError(error, 'unauthorized') || isHandoffError(error, 'forbidden')
    if (!ours) return error
    const { message, next } = error
    return new HandoffError(code, message, { cause: error, next })
  }
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...parts: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, parts)
        if (!(result instanceof Promise)) return result
        return result.catch((error: unknown) => {
          throw reported(error)
        })
      }
    },
  })
}
