// What this process was told, and how its functions are served. Knows nothing of the house: what needs only this stays small.
import { type Handler, type Manner, serve } from './http/http-function.js'
import { type Environment, readServiceSettings, type ServiceSettings } from './settings.js'

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

let clean = (text: string) => text

/** Whoever learns the secrets of this process says how they are taken out of its log. */
export function cleanLogBy(redact: (text: string) => string): void {
  clean = redact
}

export function defineFunction(
  name: string,
  seconds: number,
  methods: Record<string, Handler>,
  more: Pick<Manner, 'readAddress'> = {},
): Served {
  const corsOrigins = () => settingsHere().corsOrigins
  return serve(methods, { name, seconds, corsOrigins, redact: (text) => clean(text), ...more })
}
