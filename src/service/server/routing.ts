// The headers and rewrites of vercel.json, for one address.
import type { PlatformSettings } from './platform-settings.js'

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
