// GET /api/health: reports missing and invalid settings by name, never by value. Calls outside services only for an authenticated deep check.
import type * as Product from '../../handoff/index.js'
import { limited } from '../../handoff/util/abort.js'
import type { Environment } from '../../handoff/util/setting-reader.js'
import type { App } from '../app.js'
import { authenticate } from '../auth/authenticate.js'
import { processEnvironment, serviceSettings } from '../define-function.js'
import type { RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { wantJson, wrong } from '../http/parse-request.js'
import { HttpError, toProblem } from '../http/problem-details.js'
import { budgetForms, type ServiceSettings } from '../settings.js'

export async function getHealth(exchange: RequestContext): Promise<Response> {
  wantJson(exchange.request)
  const settings = serviceSettings()
  const missing = await missingNames(processEnvironment())
  const wanted = await invalidSettings(settings, processEnvironment())
  const wrong = Object.keys(wanted)
  const ready = missing.length === 0 && wrong.length === 0
  const shallow = {
    status: ready ? 'ok' : 'not-ready',
    missing,
    wrong,
    wanted,
    ways: {
      bearer: settings.bearers.length > 0,
      oidc: settings.oidc !== undefined,
      signIn: settings.signIn !== undefined,
      webhook: settings.webhookSecrets.length > 0,
      comments: settings.github.token !== undefined || settings.github.app !== undefined,
      queue: settings.queue,
    },
  }
  if (!isDeepCheck(exchange.url)) return jsonResponse(ready ? 200 : 503, shallow)
  const app = (await import('../app.js')).getApp()
  const caller = await authenticate(exchange.request, app)
  exchange.note({ caller: caller.name })
  if (caller.way !== 'bearer') throw strangersForbidden()
  using soon = limited(exchange.signal, 10_000)
  const [drive, sandboxes] = await Promise.all([
    check(app, async (context) => (await context.ports.drive.status(soon.signal)).ready),
    check(app, async (context) => {
      await context.ports.sandboxes.find({ handoff: '1' }, soon.signal)
      return true
    }),
  ])
  const well = ready && drive.status === 'ok' && sandboxes.status === 'ok'
  return jsonResponse(well ? 200 : 503, { ...shallow, status: well ? 'ok' : 'not-ready', drive, sandboxes })
}

function isDeepCheck(url: URL): boolean {
  const deep = url.searchParams.get('deep') ?? '0'
  if (!['0', '1', ''].includes(deep)) throw wrong('`deep` is 0 or 1.')
  return deep !== '0'
}

/** Settings that say who may ask. One of them is needed. */
const callerSettings = ['HANDOFF_BEARERS', 'HANDOFF_OIDC_AUDIENCE', 'HANDOFF_WEBHOOK_SECRETS', 'HANDOFF_APP_CLIENT_ID']

async function missingNames(environment: Environment): Promise<string[]> {
  const { missingSettings } = await (await import('../../handoff/index-for-stored-answers.js')).loadSettings()
  const hasCallers = callerSettings.some((name) => environment[name]?.trim())
  return [...missingSettings(environment), ...(hasCallers ? [] : ['HANDOFF_BEARERS'])]
}

/** Names of invalid settings, each with the form that it should have. The whole product is loaded only to compare a budget with a question. */
export async function invalidSettings(
  { wrong, models, limits: { tokensPerDay, costPerDay } }: ServiceSettings,
  environment: Environment,
): Promise<Record<string, string>> {
  const { loadSettings } = await import('../../handoff/index-for-stored-answers.js')
  const { missingSettings, parseSettings, wrongSettings } = await loadSettings()
  const found = { ...wrongSettings(environment), ...wrong }
  const hasBudget = tokensPerDay !== undefined || costPerDay !== undefined
  if (!hasBudget || Object.keys(found).length > 0 || missingSettings(environment).length > 0) return found
  const { replyLimit, budgetProblem } = await import('../../handoff/index.js')
  const { model } = parseSettings(environment)
  const fails = (budget: { tokensPerDay?: number | undefined; costPerDay?: number | undefined }) =>
    models.some((name) => {
      const asked = { ...model, name }
      return budgetProblem(budget, { ...asked, replyTokens: (wanted) => replyLimit(asked, wanted) }, model.prices)
    })
  const { HANDOFF_CALLER_TOKENS, HANDOFF_CALLER_COST } = budgetForms
  return {
    ...(tokensPerDay !== undefined && fails({ tokensPerDay }) ? { HANDOFF_CALLER_TOKENS } : {}),
    ...(costPerDay !== undefined && fails({ costPerDay }) ? { HANDOFF_CALLER_COST } : {}),
  }
}

function strangersForbidden(): HttpError {
  return new HttpError(
    403,
    'forbidden',
    'Jobs and people who signed in may not read the state of the services behind this one.',
    {
      next: 'Use a token of HANDOFF_BEARERS.',
    },
  )
}

interface Checked {
  status: string
  code?: string
  milliseconds: number
}

/** Only reads: starts nothing and costs nothing. */
async function check(app: App, look: (context: Product.AppContext) => Promise<boolean>): Promise<Checked> {
  const started = Date.now()
  const milliseconds = () => Date.now() - started
  try {
    return { status: (await look(await app.context())) ? 'ok' : 'not-ready', milliseconds: milliseconds() }
  } catch (error) {
    return { status: 'failed', code: toProblem(error).code, milliseconds: milliseconds() }
  }
}
