// The one check of http(s) addresses.

/** The address as a URL, if it is an http or https address without credentials. */
export function parseHttpUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  return url
}

/** True for an address of this machine. */
export function isLoopback({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** True if the network can neither read nor replace the content. */
export const isSecure = (url: URL): boolean => url.protocol === 'https:' || isLoopback(url)
