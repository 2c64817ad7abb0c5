// What this process was told, and how its functions are served. Knows nothing of the house: what needs only this stays small.
import { type Handler, serve } from './_exchange.js'
import { readServiceSettings, type ServiceSettings } from './_settings.js'

export interface Served {
  fetch(request: Request): Promise<Response>
}

let settings: ServiceSettings | undefined

/** Read once per process. */
export function settingsHere(): ServiceSettings {
  settings ??= readServiceSettings(process.env)
  return settings
}

export function serveWith(
  name: string,
  seconds: number,
  methods: Record<string, Handler>,
  redactor: () => ((text: string) => string) | undefined = () => undefined,
): Served {
  return serve(methods, { name, seconds, corsOrigins: () => settingsHere().corsOrigins, redactor })
}
