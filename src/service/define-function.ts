// The settings of this process, and how its functions are served. Does not import the product, so that functions which need only this stay small.
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

let redactLog = (text: string) => text

/** Sets the function that redacts secrets in log lines. Called once the secrets are known. */
export function redactLogWith(redact: (text: string) => string): void {
  redactLog = redact
}

export function defineFunction(
  name: string,
  seconds: number,
  methods: Record<string, Handler>,
  more: Pick<FunctionOptions, 'readAddress' | 'errorResponse'> = {},
): HttpFunction {
  const corsOrigins = () => serviceSettings().corsOrigins
  return serve(methods, { name, seconds, corsOrigins, log: (line) => console.log(redactLog(line)), ...more })
}
