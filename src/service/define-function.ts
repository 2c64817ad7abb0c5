// The settings of this process, its log, and how its functions are served. Does not import the product, so that functions which need only this stay
// small.
import { lazy } from '../handoff/util/lazy.js'
import type { Environment } from '../handoff/util/setting-reader.js'
import { type FunctionOptions, type Handler, serve } from './http/http-function.js'
import { readServiceSettings, type ServiceSettings } from './settings.js'

interface HttpFunction {
  fetch(request: Request): Promise<Response>
}

let settings: ServiceSettings | undefined

export const processEnvironment = (): Environment => process.env

/** Read once per process. */
export function serviceSettings(): ServiceSettings {
  settings ??= readServiceSettings(processEnvironment())
  return settings
}

/** Fields of a log line that hold numbers, ids and words of our own. */
const ownFields = new Set(
  'at route method requestId trace milliseconds later status caller mode answer reused inputTokens outputTokens pending part code'.split(
    ' ',
  ),
)

const redactor = lazy(async () => {
  const { loadRedactor, loadSettings } = await import('../handoff/index-for-stored-answers.js')
  const [{ makeRedactor }, { secretsIn }] = await Promise.all([loadRedactor(), loadSettings()])
  return makeRedactor(secretsIn(processEnvironment()))
})

/** Writes one line of JSON. Text of others may hold a secret, so a line with any field that is not known to be our own is redacted. */
export async function writeLog(fields: Record<string, unknown>): Promise<void> {
  const line = JSON.stringify(fields)
  const isOurs = Object.keys(fields).every((name) => ownFields.has(name))
  console.log(isOurs ? line : (await redactor())(line))
}

export function defineFunction(
  name: string,
  seconds: number,
  methods: Record<string, Handler>,
  more: Pick<FunctionOptions, 'readAddress' | 'errorResponse'> = {},
): HttpFunction {
  return serve(methods, { name, seconds, corsOrigins: () => serviceSettings().corsOrigins, log: writeLog, ...more })
}
