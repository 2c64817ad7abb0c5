// GET /api/health: reports missing and invalid settings by name, never by value. Calls outside services only for an authenticated deep check.
import type * as Product from '../../handoff/index.js'
import type { App } from '../app.js'
import { authenticate } from '../auth/authenticate.js'
import { processEnvironment, serviceSettings } from '../define-function.js'
import type { RequestContext } from '../http/http-function.js'
import { jsonResponse } from '../http/json.js'
import { wantJson, wrong } from '../http/parse-request.js'
import { HttpError, toProblem } from '../http/problem-details.js'
import { limited } from '../http/request-deadline.js'
import { expectedForm } from '../setting-forms.js'
import { type Environment, missingNames, type ServiceSettings } from '../settings.js'

export async function getHealth(exchange: RequestContext): Promise<Response> {
  wantJson(exchange.request)
  const settings = serviceSettings()
  const missing = missingNames(processEnvironment())
  const wrong = await invalidSettings(settings, processEnvironment())
  const ready = missing.length === 0 && wrong.length === 0
  const shallow = {
    status: ready ? 'ok' : 'not-ready',
    missing,
    wrong,
    wanted: Object.fromEntries(wrong.map((name) => [name, expectedForm(name)])),
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

/** Loads the product only for settings that depend on the model or on the cost of a question. */
export async function invalidSettings(
  { wrong, models, limits }: ServiceSettings,
  environment: Environment,
): Promise<string[]> {
  const { tokensPerDay, costPerDay } = limits
  const effort = environment['LLM_REASONING_EFFORT']?.trim() ?? ''
  if ((tokensPerDay === undefined && costPerDay === undefined && effort === '') || wrong.length > 0) return wrong
  const { efforts, missingSettings, parseSettings, replyLimit, budgetProblem } = await import('../../handoff/index.js')
  if (!efforts.some((one) => one === (effort.toLowerCase() || efforts[0]))) return ['LLM_REASONING_EFFORT']
  if (missingSettings(environment).length > 0) return wrong
  const { model } = parseSettings(environment)
  const fails = (budget: { tokensPerDay?: number; costPerDay?: number }) =>
    models.some((name) => {
      const asked = { ...model, name }
      return budgetProblem(budget, { ...asked, replyTokens: (wanted) => replyLimit(asked, wanted) }, model.prices)
    })
  return [
    ...(tokensPerDay !== undefined && fails({ tokensPerDay }) ? ['HANDOFF_CALLER_TOKENS'] : []),
    ...(costPerDay !== undefined && fails({ costPerDay }) ? ['HANDOFF_CALLER_COST'] : []),
  ]
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
