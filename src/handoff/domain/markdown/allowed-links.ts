// Which addresses a text that is not ours may link to: files and folders of a repository on the git host itself, and the repository's own
// page. An address that names an issue, a pull request or a commit leaves a cross reference there, and one that logs an account in or out, or
// grants something, is nothing a model should hand to people.

const repositoryPage = /^\/[\w.~-]+\/[\w.~-]+\/?$/
const repositoryFile = /^(\/[\w.~-]+(?:\/[\w.~-]+){1,9}?)\/(?:-\/)?(?:blob|tree|blame|src)\/[^\s]+$/
const belowRepository = /^(?:\/?|\/(?:-\/)?(?:blob|tree|blame|src)\/[^\s]+)$/
const otherPages = /\/(?:issues?|pulls?|commits?|compare|discussions?|merge_requests)(?:\/|$)/i
const reservedOwners =
  /^\/(?:login|logout|settings|orgs|apps|sessions|oauth|users|notifications|organizations|enterprises)\//i
const encodedControls = /%(?:0|1|7f)/i

/**
 * The address as it may be written, or null when it has to stay words. `host` is a name, with a port if need be. With a `repository` (`owner/name`)
 * only its own page and files are allowed.
 */
export function allowedAddress(address: string, host: string | undefined, repository?: string): string | null {
  if (host === undefined || address.length > 2_000 || !/^https?:\/\//i.test(address)) return null
  const url = parsed(address)
  if (url === null || url.host !== host.toLowerCase() || url.username !== '' || url.password !== '') return null
  const { pathname } = url
  const place = repository === undefined ? anyPlace(pathname) : ownPlace(pathname, repository)
  if (place === undefined || encodedControls.test(pathname)) return null
  if (otherPages.test(place) || reservedOwners.test(pathname)) return null
  const line = /^#L\d+(?:-L?\d+)?$/.test(url.hash) ? url.hash : ''
  return writtenAddress(`${url.origin}${pathname}${line}`)
}

const anyPlace = (pathname: string) => repositoryFile.exec(pathname)?.[1] ?? repositoryPage.exec(pathname)?.[0]

function ownPlace(pathname: string, repository: string): string | undefined {
  const home = pathname.slice(0, repository.length + 1)
  const isOwn = home.toLowerCase() === `/${repository}`.toLowerCase()
  return isOwn && belowRepository.test(pathname.slice(home.length)) ? home : undefined
}

function parsed(address: string): URL | null {
  return URL.canParse(address) ? new URL(address) : null
}

/** Percent-encodes what could end a link or be read as Markdown or as a mention. */
export function writtenAddress(url: string): string {
  return url.replace(
    /[\s()<>[\]\\`*"'@!|~^{}$]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
