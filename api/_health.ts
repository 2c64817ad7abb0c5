// Is it up, and has it what it needs? Says names, never values, and touches no cloud unless somebody with a token asks for more.
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
  const drive = await checkDrive(exchange.request.signal)
  const well = ready && drive.status === 'ok'
  return jsonResponse(well ? 200 : 503, { ...shallow, status: well ? 'ok' : 'not-ready', drive })
}

async function checkDrive(signal: AbortSignal): Promise<{ status: string; code?: string; milliseconds: number }> {
  const started = Date.now()
  const milliseconds = () => Date.now() - started
  try {
    const service = await door().service()
    const { ready } = await service.house.tools.drive.status(AbortSignal.any([signal, AbortSignal.timeout(10_000)]))
    return { status: ready ? 'ok' : 'not-ready', milliseconds: milliseconds() }
  } catch (error) {
    return { status: 'failed', code: problemOf(error).code, milliseconds: milliseconds() }
  }
}
