// Which addresses a text that is not ours may link to: files and folders of its repository, and the repository's own page. Another repository on
// the same host may belong to an attacker. An address of an issue, a pull request or a commit would leave a cross reference there.

const repositoryFile = /^\/(?:-\/)?(?:blob|tree|blame|src)\/[^\s]+$/
const encodedControls = /%(?:0|1|7f)/i

export interface LinkedRepository {
  /** A name, with a port if need be. */
  host: string
  /** `owner/name` */
  path: string
}

/** The address as it may be written, or null when it has to stay words. */
export function allowedAddress(address: string, repository: LinkedRepository | undefined): string | null {
  if (repository === undefined || address.length > 2_000 || !/^https?:\/\//i.test(address)) return null
  const url = parsed(address)
  if (url === null || url.host !== repository.host.toLowerCase() || url.username !== '' || url.password !== '')
    return null
  const own = `/${repository.path}`.toLowerCase()
  const rest = url.pathname.slice(own.length)
  if (url.pathname.slice(0, own.length).toLowerCase() !== own || encodedControls.test(url.pathname)) return null
  if (rest !== '' && rest !== '/' && !repositoryFile.test(rest)) return null
  const line = /^#L\d+(?:-L?\d+)?$/.test(url.hash) ? url.hash : ''
  return writtenAddress(`${url.origin}${url.pathname}${line}`)
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
