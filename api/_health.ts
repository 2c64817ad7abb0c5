// Is it up, and has it what it needs? Says names, never values, and touches no cloud unless somebody with a token asks for more.
import type * as House from '../src/handoff/index.js'
import { authenticate } from './_auth.js'
import { door } from './_door.js'
import type { Exchange } from './_exchange.js'
import { problemOf } from './_problem.js'
import { wantJson } from './_request.js'
import { missingNames } from './_settings.js'
import { jsonResponse } from './_views.js'

export async function getHealth(exchange: Exchange): Promise<Response> {
  const here = door()
  wantJson(exchange.request)
  const { settings } = here
  const missing = missingNames(here.environment)
  const ready = missing.length === 0 && settings.wrong.length === 0
  const shallow = {
    status: ready ? 'ok' : 'not-ready',
    missing,
    wrong: settings.wrong,
    ways: {
      bearer: settings.bearers.length > 0,
      oidc: settings.oidc !== undefined,
      webhook: settings.webhookSecrets.length > 0,
      comments: settings.github.token !== undefined || settings.github.app !== undefined,
      cron: settings.cronSecret !== undefined,
    },
  }
  if (exchange.url.searchParams.get('deep') === null) return jsonResponse(ready ? 200 : 503, shallow)
  const caller = await authenticate(exchange.request, settings, here.verifier)
  exchange.note({ caller: caller.name })
  const signal = AbortSignal.any([exchange.signal, AbortSignal.timeout(10_000)])
  const [drive, sandboxes] = await Promise.all([
    check(async ({ house }) => (await house.tools.drive.status(signal)).ready),
    check(async ({ house }) => {
      await house.tools.sandboxes.find({ handoff: '1' }, signal)
      return true
    }),
  ])
  const well = ready && drive.status === 'ok' && sandboxes.status === 'ok'
  return jsonResponse(well ? 200 : 503, { ...shallow, status: well ? 'ok' : 'not-ready', drive, sandboxes })
}

interface Checked {
  status: string
  code?: string
  milliseconds: number
}

/** Only looks: nothing is started, and nothing is paid. */
async function check(look: (service: House.Service) => Promise<boolean>): Promise<Checked> {
  const started = Date.now()
  const milliseconds = () => Date.now() - started
  try {
    return { status: (await look(await door().service())) ? 'ok' : 'not-ready', milliseconds: milliseconds() }
  } catch (error) {
    return { status: 'failed', code: problemOf(error).code, milliseconds: milliseconds() }
  }
}
