// Checks addresses that the service sends before they become links: only the repository's own page and files on its git host are allowed.

/** Returns the address to link to; undefined leaves the words without a link. */
export type CheckLink = (address: unknown) => string | undefined

export function linksTo({ host, repository }: { host: string | undefined; repository: string }): CheckLink {
  const home = `/${repository}`.toLowerCase()
  return (address) => {
    const url = parse(address)
    if (!url || !host || url.host !== host.toLowerCase() || url.username !== '' || url.password !== '') return undefined
    const path = url.pathname.toLowerCase()
    const inside =
      path === home || path === `${home}/` || /^\/(?:-\/)?(?:blob|tree|src)\//.test(path.slice(home.length))
    return inside && path.startsWith(home) ? url.href : undefined
  }
}

function parse(address: unknown): URL | undefined {
  if (typeof address !== 'string' || address.length > 2_000 || !URL.canParse(address)) return undefined
  const url = new URL(address)
  return url.protocol === 'https:' ? url : undefined
}

/** The address of one line, from that of lines of the same file. */
export function lineAddress(url: string | undefined, line: number): string | undefined {
  return url?.replace(/#L\d+(?:-L\d+)?$/, `#L${line}`)
}
