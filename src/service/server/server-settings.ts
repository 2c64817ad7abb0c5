// Where the server listens, and how long it takes to stop.

export interface ServerSettings {
  host: string
  port: number
  stopSeconds: number
}

export function readServerSettings(environment: Record<string, string | undefined>): ServerSettings {
  return {
    // A server that is to be reached from elsewhere says so, and has TLS in front of it.
    host: environment['HOST']?.trim() || '127.0.0.1',
    port: readInteger(environment, 'PORT', 3000, 65_535),
    // Docker ends a container ten seconds after it was asked to stop.
    stopSeconds: readInteger(environment, 'HANDOFF_STOP_SECONDS', 9, 300),
  }
}

function readInteger(
  environment: Record<string, string | undefined>,
  name: string,
  usual: number,
  most: number,
): number {
  const text = environment[name]?.trim() || String(usual)
  const value = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (value < 0 || value > most) throw new Error(`${name} has to be a whole number up to ${most}.`)
  return value
}
