// The functions that consume topics, as vercel.json says it.
import { readPlatformSettings } from '../../service/server/platform-settings.js'

export interface Consumer {
  name: string
  path: string
  topic: string
  retryAfterSeconds: number
  initialDelaySeconds: number
  maxConcurrency: number
  maxDeliveries: number
}

export async function readConsumers(root: string): Promise<Consumer[]> {
  const { functions } = await readPlatformSettings(root)
  return Object.entries(functions).flatMap(([file, { experimentalTriggers = [] }]) =>
    experimentalTriggers.map(({ type, topic, ...trigger }) => {
      if (type !== 'queue/v2beta') throw new Error(`The emulator does not know the trigger ${type} of ${file}.`)
      return {
        name: consumerOf(file),
        path: `/${file.replace(/\.ts$/, '')}`,
        topic,
        retryAfterSeconds: trigger.retryAfterSeconds ?? 60,
        initialDelaySeconds: trigger.initialDelaySeconds ?? 0,
        maxConcurrency: trigger.maxConcurrency ?? Number.POSITIVE_INFINITY,
        maxDeliveries: trigger.maxDeliveries ?? Number.POSITIVE_INFINITY,
      }
    }),
  )
}

/** A consumer is named after the file of its function, in letters that a name may have. */
const consumerOf = (file: string) =>
  file.replace(
    /[^A-Za-z0-9-]/g,
    (letter) => ({ _: '__', '/': '_S', '.': '_D' })[letter] ?? `_${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
