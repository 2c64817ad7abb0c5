// How GitHub's runner reads what a step prints and writes, as its source has it (actions/runner at 258d6c857, August 2026: ActionCommand,
// ActionCommandManager, OutputManager, FileCommandManager, ExecutionContext). A forgery that would work there works here, and what the runner
// refuses is refused here: `refused` says it in a sentence.

export interface Command {
  name: string
  properties: Record<string, string>
  data: string
}

export interface ReadLog {
  /** Commands that the runner obeys, in order. */
  commands: Command[]
  /** What people see outside of guards, and inside of them. */
  lines: string[]
  quoted: string[]
  /** Annotations: the first ten of each kind, each cut as the runner cuts it. */
  errors: string[]
  notices: string[]
  warnings: string[]
  masks: string[]
  /** Lines that the log's page shows as an error, a group or the like although the runner obeyed no command. */
  coloured: string[]
  /** Lines that a problem matcher of an earlier step makes an annotation of. */
  matched: string[]
  /** Why the runner fails the step. */
  refused: string[]
}

/** The runner knows these, in any case; every other name is plain text. */
const known = new Set(
  (
    'stop-commands set-env set-output save-state add-mask add-path add-matcher remove-matcher ' +
    'warning error notice debug group endgroup echo'
  ).split(' '),
)
/** Refused since CVE-2020-15228, unless the workflow allows them by a setting that no example of ours has. */
const insecure = new Set(['set-env', 'add-path'])

const annotationsOfAKind = 10
const annotationLength = 4_096

/** Matchers that actions/setup-node, setup-go and setup-python leave behind, as regular expressions on one line. */
export const problemMatchers = {
  tsc: /^(?:\s+\d+>)?([^\s].*)[(:](\d+)[,:](\d+)(?:\):\s+|\s+-\s+)(error|warning|info)\s+(TS\d+)\s*:\s*(.*)$/,
  go: /^\s*(\.{0,2}[/\\].+\.go):(?:(\d+):(\d+):)? (.*)/,
  python: /^\s*File\s"(.*)",\sline\s(\d+),\sin\s(.*)$/,
  'eslint-stylish': /^\s+(\d+):(\d+)\s+(error|warning|info)\s+(.*)\s\s+(.*)$/,
}

export function readLog(raw: string): ReadLog {
  const log = { commands: [] as Command[], lines: [] as string[], quoted: [] as string[], refused: [] as string[] }
  const names = new Set(known)
  let stopped: string | undefined
  for (const line of raw.split(/\r\n|\r|\n/)) {
    const command = parseCommand(line, names)
    if (command && stopped !== undefined && command.name === stopped) {
      names.delete(stopped)
      stopped = undefined
    } else if (!command || stopped !== undefined) {
      log[stopped === undefined ? 'lines' : 'quoted'].push(line)
    } else if (command.name === 'stop-commands') {
      stopped = command.data.toLowerCase()
      if (stopped === '' || stopped === 'pause-logging' || known.has(stopped)) {
        log.refused.push(`stop-commands does not take the token ${JSON.stringify(command.data)}`)
      }
      names.add(stopped)
    } else {
      log.commands.push(command)
      log.refused.push(...refusalOf(command))
    }
  }
  const of = (name: string) => log.commands.filter((command) => command.name === name).map((command) => command.data)
  const annotations = (name: string) =>
    of(name)
      .slice(0, annotationsOfAKind)
      .map((text) => text.slice(0, annotationLength))
  const shown = [...log.lines, ...log.quoted]
  return {
    ...log,
    lines: log.lines.filter((line) => line !== ''),
    errors: annotations('error'),
    notices: annotations('notice'),
    warnings: annotations('warning'),
    masks: of('add-mask').flatMap((mask) => [...new Set([mask, ...mask.split(/[\r\n]+/).map((one) => one.trim())])]),
    coloured: shown.filter((line) => /^##\[\w/.test(line)),
    matched: shown.filter((line) => Object.values(problemMatchers).some((one) => one.test(withoutColours(line)))),
  }
}

function refusalOf({ name, data, properties }: Command): string[] {
  if (insecure.has(name)) return [`${name} is disabled`]
  if ((name === 'set-output' || name === 'save-state') && !properties['name']) return [`${name} needs a name`]
  if (name === 'echo' && !/^(?:on|off)$/i.test(data.trim())) return [`echo is on or off, not ${data}`]
  return []
}

/** `::name key=value::data` after blanks at the start of a line, else the older `##[name key=value]data` anywhere in it. */
function parseCommand(line: string, names: Set<string>): Command | null {
  return modern(line.trimStart(), names) ?? older(line, names)
}

function modern(line: string, names: Set<string>): Command | null {
  const end = line.startsWith('::') ? line.indexOf('::', 2) : -1
  if (end < 0) return null
  return commandOf(line.slice(2, end), line.slice(end + 2), names, { separator: ',', escapes: [...data, ...property] })
}

function older(line: string, names: Set<string>): Command | null {
  const start = line.indexOf('##[')
  const end = start < 0 ? -1 : line.indexOf(']', start)
  if (end < 0) return null
  const escapes = [['%3B', ';'], ...data.slice(0, 2), ['%5D', ']'], ...data.slice(2)] as const
  return commandOf(line.slice(start + 3, end), line.slice(end + 1), names, { separator: ';', escapes })
}

const data = [
  ['%0D', '\r'],
  ['%0A', '\n'],
  ['%25', '%'],
] as const
const property = [
  ['%3A', ':'],
  ['%2C', ','],
] as const

type Escapes = readonly (readonly [string, string])[]

function commandOf(
  head: string,
  text: string,
  names: Set<string>,
  { separator, escapes }: { separator: string; escapes: Escapes },
): Command | null {
  const blank = head.indexOf(' ')
  const name = (blank < 0 ? head : head.slice(0, blank)).toLowerCase()
  if (!names.has(name)) return null
  const pairs = (blank < 0 ? '' : head.slice(blank + 1).trim())
    .split(separator)
    .map((pair) => /^([^=]+)=(.+)$/s.exec(pair))
    .filter((pair) => pair !== null)
  return {
    name,
    properties: Object.fromEntries(pairs.map(([, key, value]) => [key!, decoded(value!, escapes)])),
    data: decoded(text, separator === ',' ? data : escapes),
  }
}

const decoded = (text: string, escapes: Escapes) =>
  escapes.reduce((whole, [escaped, plain]) => whole.replaceAll(escaped, plain), text)

// biome-ignore lint/complexity/useRegexLiterals: a literal would hold the control character.
const colour = new RegExp('\\u001b\\[[0-9;]*m?', 'g')
const withoutColours = (line: string) => line.replace(colour, '')

/**
 * GITHUB_OUTPUT, GITHUB_STATE and GITHUB_ENV: `name=value`, or a value of many lines with its own delimiter, whichever sign comes first. The last
 * of a name wins. Throws where the runner does.
 */
export function readPairs(text: string): Record<string, string> {
  const pairs: Record<string, string> = {}
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!
    if (line === '') continue
    const [, name = '', sign, rest = ''] = /^(.*?)(=|<<)(.*)$/s.exec(line) ?? []
    if (sign === undefined || name === '' || (sign === '<<' && rest === '')) {
      throw new Error(`The runner cannot read the line ${line}`)
    }
    if (sign === '=') {
      pairs[name] = rest
      continue
    }
    const end = lines.indexOf(rest, at + 1)
    if (end < 0) throw new Error(`The value of ${name} has no end`)
    pairs[name] = lines.slice(at + 1, end).join('\n')
    at = end
  }
  return pairs
}

export interface StepFiles {
  output: string
  state: string
  env: string
  path: string
  summary: string
}

const mebibyte = 1_048_576

/** What the runner has against the files that a step wrote. */
export function refusedFiles(files: StepFiles): string[] {
  const outputs = Object.values(readPairs(files.output)).join('')
  const variables = Object.keys(readPairs(files.env))
  return [
    ...(Buffer.byteLength(files.summary) > mebibyte ? ['the job summary is larger than 1024k and is not shown'] : []),
    // Counted as UTF-16, over all outputs.
    ...(2 * outputs.length > mebibyte ? ['the outputs are larger than 1 MB'] : []),
    ...variables.filter((name) => name.toUpperCase() === 'NODE_OPTIONS').map((name) => `${name} may not be set`),
  ]
}
