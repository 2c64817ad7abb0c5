// vercel.json as read values: what the functions are, how long each may take, and what is said with every reply. The server and the emulator of
// Vercel take both from here.
import { readdir, readFile } from 'node:fs/promises'
import { join, matchesGlob } from 'node:path'

export interface FunctionSettings {
  maxDuration?: number
  supportsCancellation?: boolean
  excludeFiles?: string
  experimentalTriggers?: QueueTrigger[]
}

/** The function consumes a topic of Vercel Queues. */
interface QueueTrigger {
  type: string
  topic: string
  retryAfterSeconds?: number
  initialDelaySeconds?: number
  maxConcurrency?: number
  maxDeliveries?: number
}

export interface PlatformSettings {
  outputDirectory: string
  functions: Record<string, FunctionSettings>
  rewrites: { source: string; destination: string }[]
  headers: { source: string; headers: { key: string; value: string }[] }[]
}

export async function readPlatformSettings(root: string): Promise<PlatformSettings> {
  return JSON.parse(await readFile(join(root, 'vercel.json'), 'utf8')) as PlatformSettings
}

/** What becomes a function: every source below `api` that is not hidden by its name. */
export async function functionNames(root: string): Promise<string[]> {
  const found = await readdir(join(root, 'api'), { recursive: true })
  return found
    .filter(
      (path) => /\.ts$/.test(path) && !path.endsWith('.d.ts') && !path.split('/').some((part) => /^[_.]/.test(part)),
    )
    .map((path) => `api/${path.replace(/\.ts$/, '')}`)
    .sort()
}

/** The first pattern that matches decides, as on the platform. */
export function functionSettings(settings: PlatformSettings, name: string): FunctionSettings {
  const found = Object.entries(settings.functions).find(([pattern]) => matchesGlob(`${name}.ts`, pattern))
  return found?.[1] ?? {}
}

export function headersFor(settings: PlatformSettings, path: string): { key: string; value: string }[] {
  return settings.headers.filter(({ source }) => new RegExp(`^${source}$`).test(path)).flatMap(({ headers }) => headers)
}

/** `:name` stands for one segment of the path. */
export function rewrite(settings: PlatformSettings, url: URL): URL {
  for (const { source, destination } of settings.rewrites) {
    const match = new RegExp(`^${source.replace(/:([a-z]+)/g, '(?<$1>[^/]+)')}$`).exec(url.pathname)
    if (!match) continue
    const target = destination.replace(/:([a-z]+)/g, (_all, name: string) => match.groups?.[name] ?? '')
    const rewritten = new URL(target, url)
    for (const [key, value] of url.searchParams) rewritten.searchParams.append(key, value)
    return rewritten
  }
  return url
}
