// Builds addresses of files at a commit on the git host, from the commit and a verified path. An address that a model wrote is never used.
import { withoutTrailingSlashes } from '../../util/text.js'
import { writtenAddress } from '../markdown/allowed-links.js'

type PermalinkStyle = 'github' | 'gitlab' | 'bitbucket' | 'none'

export interface AnswerPlace {
  /** The git host's name, with its port if it has one. */
  host: string
  /** `owner/name`, or with groups. */
  repository: string
  /** Where people look at things, when it is not `https://` and the host. */
  serverUrl?: string
  /** The style of addresses, if known; otherwise it is guessed from the host. */
  permalinks?: PermalinkStyle
}

interface CodePlace {
  path: string
  from: number
  to: number
}

/** Null for an unknown host, and for a path that no address can express. */
export function permalink(place: AnswerPlace, commit: string, code: CodePlace): string | null {
  const style = place.permalinks ?? guessStyle(place.host)
  if (style === 'none' || !code.path.isWellFormed() || /[\ufffd\0]/.test(code.path)) return null
  const repository = `${serverOf(place)}/${encodePath(place.repository)}`
  const path = encodePath(code.path)
  const { from, to } = code
  switch (style) {
    case 'github':
      return `${repository}/blob/${commit}/${path}${isRendered(code.path) ? '?plain=1' : ''}#L${from}${from === to ? '' : `-L${to}`}`
    case 'gitlab':
      return `${repository}/-/blob/${commit}/${path}${isRendered(code.path) ? '?plain=1' : ''}#L${from}${from === to ? '' : `-${to}`}`
    case 'bitbucket':
      return `${repository}/src/${commit}/${path}#lines-${from}${from === to ? '' : `:${to}`}`
  }
}

/** The address of a directory at the commit; `''` is the top. Null as for a file. */
export function directoryLink(place: AnswerPlace, commit: string, directory: string): string | null {
  const style = place.permalinks ?? guessStyle(place.host)
  if (style === 'none' || !directory.isWellFormed() || /[\ufffd\0]/.test(directory)) return null
  const folder = { github: '/tree', gitlab: '/-/tree', bitbucket: '/src' }[style]
  const path = directory === '' ? '' : `/${encodePath(directory)}`
  return `${serverOf(place)}/${encodePath(place.repository)}${folder}/${commit}${path}`
}

/** The host that links in an answer may go to; undefined when we make no links. */
export function linkHost(place: AnswerPlace): string | undefined {
  const style = place.permalinks ?? guessStyle(place.host)
  return style === 'none' ? undefined : serverOf(place).replace(/^https?:\/\//, '')
}

/** The repository that links in a document may lead to, where we make links at all. */
export function linkRepository(place: AnswerPlace): { repository?: { host: string; path: string } } {
  const host = linkHost(place)
  return host === undefined ? {} : { repository: { host, path: place.repository } }
}

function serverOf(place: AnswerPlace): string {
  return withoutTrailingSlashes(place.serverUrl ?? `https://${place.host}`)
}

function guessStyle(host: string): PermalinkStyle {
  const labels = host.toLowerCase().replace(/:\d+$/, '').split('.')
  const name = labels.join('.')
  if (labels[0] === 'github' || name.endsWith('.ghe.com')) return 'github'
  if (labels[0] === 'gitlab') return 'gitlab'
  return name === 'bitbucket.org' ? 'bitbucket' : 'none'
}

/** Hosts show these as documents, without line numbers, unless they are asked not to. */
const isRendered = (path: string) =>
  /\.(?:md|mdx|markdown|mdown|mkdn?|rst|adoc|asciidoc|org|textile|rdoc|pod|wiki|ipynb|csv|tsv|svg|geojson)$/i.test(path)

function encodePath(path: string): string {
  return path
    .split('/')
    .map((segment) => writtenAddress(encodeURIComponent(segment)))
    .join('/')
}
