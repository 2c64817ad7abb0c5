// What this process was told, and how its functions are served. Knows nothing of the house: what needs only this stays small.
import { type Handler, serve } from './_exchange.js'
import { type Environment, readServiceSettings, type ServiceSettings } from './_settings.js'

export interface Served {
  fetch(request: Request): Promise<Response>
}

let settings: ServiceSettings | undefined

export const environmentHere = (): Environment => process.env

/** Read once per process. */
export function settingsHere(): ServiceSettings {
  settings ??= readServiceSettings(environmentHere())
  return settings
}

export function serveWith(
  name: string,
  seconds: number,
  methods: Record<string, Handler>,
  redact: (text: string) => string = (text) => text,
): Served {
  return serve(methods, { name, seconds, corsOrigins: () => settingsHere().corsOrigins, redact })
}
