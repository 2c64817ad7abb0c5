// Renders the statements of a summary for agents: as an index in the form of llms.txt, and as a bundle of the Open Knowledge Format 0.2, whose
// documents name the cited lines as their sources. Nothing in them is newly written.
import { permalink } from '../answers/permalinks.js'
import type { LinkTarget } from '../citations/citation-label.js'
import { citationLabel } from '../citations/citation-label.js'
import { codeSpan } from '../markdown/escape.js'
import { cleanSentence, type Evidence, type Statement, type SummaryRecord, statementsOf } from './summary-record.js'

interface ContextFiles {
  record: SummaryRecord
  target: LinkTarget
  /** `owner/name` */
  repository: string
  /** When the run was sealed. */
  sealedAt: string
}

/** A title, one sentence, and a list of links with a sentence each for every section. */
export function llmsText({ record, target, repository }: ContextFiles): string {
  const introduction = statementsOf(record)[0]
  const lists = record.sections.map(({ heading, statements }) => {
    const items = statements.flatMap((statement) => (statement === introduction ? [] : linkItem(statement, target)))
    return items.length === 0 ? '' : `## ${heading}\n\n${items.join('\n')}\n`
  })
  const head = [
    `# ${cleanSentence(repository)}`,
    introduction === undefined ? '' : `> ${introduction.text}`,
    `${origin(record)} Each link is to lines of that commit.`,
  ]
  return `${[...head, ...lists].filter((part) => part !== '').join('\n\n')}`
}

/** One link for each place; the sentence stands behind the first. */
function linkItem({ text, citations }: Statement, target: LinkTarget): string[] {
  const [first, ...others] = citations.map((place) => placeLink(place, target))
  return first === undefined ? [] : [`- ${first}: ${[text, ...others].join(' ')}`]
}

function placeLink(place: Evidence, { place: host, commit }: LinkTarget): string {
  const url = permalink(host, commit, place)
  // Readers of llms.txt end a link's words at the first bracket, also in code.
  const label = codeSpan(citationLabel(place).replaceAll('[', '%5B').replaceAll(']', '%5D'))
  return url === null ? label : `[${label}](${url})`
}

const origin = ({ commit, model }: SummaryRecord) =>
  `Written by the model ${codeSpan(cleanSentence(model))} about commit ${codeSpan(commit)}; code checked that the cited lines exist.`

// ── Open Knowledge Format ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const formatVersion = '0.2'

interface Concept {
  /** The path in the bundle. */
  path: string
  type: string
  title: string
  statements: Statement[]
  tags: string[]
  /** The directory that it is about. */
  directory?: string
}

/** The files of the bundle: a document for each section, one for each directory at the top, and an index. */
export function knowledgeBundle(files: ContextFiles): { path: string; text: string }[] {
  const { record } = files
  const sections = record.sections.map(
    ({ heading, statements }): Concept => ({
      path: `${slug(heading)}.md`,
      type: 'Repository Summary',
      title: heading,
      statements,
      tags: [],
    }),
  )
  const directories = topDirectories(record).map(
    ([directory, statements]): Concept => ({
      path: `directories/${slug(directory)}.md`,
      type: 'Source Directory',
      title: `${directory}/`,
      statements,
      tags: record.words.find((one) => one.directory === directory)?.words ?? [],
      directory,
    }),
  )
  const concepts = [...sections, ...directories].filter(({ statements }) => statements.length > 0)
  const paths = new Set<string>()
  // Two names may have the same slug; the second would overwrite the first.
  const distinct = concepts.filter(({ path }) => !paths.has(path) && paths.add(path))
  return [
    { path: 'index.md', text: bundleIndex(distinct, files) },
    ...distinct.map((concept) => ({ path: concept.path, text: conceptText(concept, files) })),
  ]
}

/** Each directory at the top with the statements that cite a file in it. */
function topDirectories(record: SummaryRecord): [string, Statement[]][] {
  const found = new Map<string, Statement[]>()
  for (const statement of statementsOf(record)) {
    const names = statement.citations.flatMap(({ path }) =>
      path.includes('/') ? [path.slice(0, path.indexOf('/'))] : [],
    )
    for (const name of new Set(names)) found.set(name, [...(found.get(name) ?? []), statement])
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1))
}

const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '') || 'top'

function bundleIndex(concepts: readonly Concept[], { repository }: ContextFiles): string {
  const list = (of: readonly Concept[]) =>
    of.map(({ path, title, statements }) => `* [${cleanSentence(title)}](${path}) - ${statements[0]!.text}`).join('\n')
  const groups: [string, Concept[]][] = [
    [`Summary of ${cleanSentence(repository)}`, concepts.filter(({ directory }) => directory === undefined)],
    ['Directories', concepts.filter(({ directory }) => directory !== undefined)],
  ]
  const text = groups.filter(([, of]) => of.length > 0).map(([title, of]) => `# ${title}\n\n${list(of)}\n`)
  return `---\nokf_version: "${formatVersion}"\n---\n\n${text.join('\n')}`
}

function conceptText({ type, title, statements, tags, directory }: Concept, files: ContextFiles): string {
  const { record, target, sealedAt } = files
  const places = new Map(statements.flatMap(({ citations }) => citations).map((place) => [sourceId(place), place]))
  const fields: [string, unknown][] = [
    ['type', type],
    ['title', title],
    ['description', statements[0]!.text],
    ['resource', resourceOf(directory, files)],
    ['tags', tags],
    // No person has confirmed it.
    ['status', 'draft'],
    ['generated', { by: `handoff/${record.model}`, at: sealedAt }],
    ['commit', record.commit],
  ]
  const sources = [...places].map(([id, place]) => ({
    id,
    resource: permalink(target.place, target.commit, place) ?? `${place.path} at ${target.commit}`,
    title: citationLabel(place),
    blob: place.blob,
    digest: place.digest,
  }))
  const body = statements.map(({ text, citations }) =>
    [text, ...citations.map((place) => `[^${sourceId(place)}]`)].join(' '),
  )
  const notes = [...places].map(([id, place]) => `[^${id}]: ${codeSpan(citationLabel(place))}`)
  return [
    '---',
    // JSON is YAML.
    ...fields.filter(([, value]) => value !== undefined).map(([name, value]) => `${name}: ${JSON.stringify(value)}`),
    ...(sources.length === 0 ? [] : ['sources:', ...sources.map((source) => `  - ${JSON.stringify(source)}`)]),
    '---',
    '',
    `# ${cleanSentence(title)}`,
    '',
    ...body.flatMap((line) => [line, '']),
    ...notes,
    '',
  ].join('\n')
}

/** The same lines have the same id in each document. */
const sourceId = ({ path, digest, from }: Evidence) =>
  `${slug(path).slice(-40).replace(/^-/, '')}-${from}-${digest.slice(0, 8)}`

function resourceOf(directory: string | undefined, { target }: ContextFiles): string | undefined {
  const url = permalink(target.place, target.commit, { path: `${directory ?? 'README.md'}`, from: 1, to: 1 })
  if (url === null) return undefined
  const [file] = url.split(/[?#]/)
  return directory === undefined ? file!.split(/\/(?:blob|src)\//)[0] : file!.replace('/blob/', '/tree/')
}
