// What a project says of itself: the README's first paragraph, the manifests of packages, and the commands that its authors type.
import { commentAt, saidBy } from './comments.js'
import { depthOf, type Fact, folderOf, mostNames, nameOf } from './fact.js'
import { code, firstSentence, quoted, shorten } from './format-text.js'
import type { FileBlock, Line } from './parse-prompt.js'
import { readmeFacts } from './readme-facts.js'

/** What the whole is called and what its authors say it is. */
export function identityFacts(files: FileBlock[]): Fact[] {
  const top = files.filter((file) => depthOf(file) === 1)
  return [...top.flatMap(readmeFacts).slice(0, 1), ...top.flatMap(manifestFacts).slice(0, 4)]
}

/** What the authors say of the folders below. */
export function folderFacts(files: FileBlock[]): Fact[] {
  const below = files.filter((file) => depthOf(file) > 1)
  return [...below.flatMap(readmeFacts), ...below.flatMap(manifestFacts)]
}

const manifests = /^(package\.json|composer\.json|pyproject\.toml|Cargo\.toml|setup\.cfg|go\.mod|[\w.-]+\.gemspec)$/

function manifestFacts(file: FileBlock): Fact[] {
  if (nameOf(file) === 'pom.xml') return artifactFacts(file)
  if (!manifests.test(nameOf(file))) return []
  const given = new Map<string, { value: string; line: Line }>()
  for (const line of file.lines) {
    const [, key = '', value = ''] =
      /^\s{0,2}(?:\w+\.)?"?(name|description|version|summary)"?\s*[:=]\s*["']([^"']+)["']/.exec(line.text) ??
      /^(module)\s+(\S+)/.exec(line.text) ??
      []
    if (value !== '' && !given.has(key)) given.set(key, { value, line })
  }
  const name = given.get('name') ?? given.get('module')
  if (name === undefined) return []
  const version = given.get('version')
  const description = given.get('description') ?? given.get('summary')
  const used = [name, version, description].flatMap((one) => (one === undefined ? [] : [one.line]))
  const ofVersion = version === undefined ? '' : `, version ${version.value}`
  const phrase = description === undefined ? '' : `, and describes it as ${quoted(firstSentence(description.value))}`
  const noun = given.has('name') ? 'package' : 'module'
  const names = `${code(file.path)} names the ${noun} ${code(name.value)}${ofVersion}${phrase}.`
  return [{ text: names, file, lines: used.sort((a, b) => a.number - b.number) }, ...dependencyFacts(file)]
}

/** What Maven's file says of the project itself, not of its parent and its dependencies. */
function artifactFacts(file: FileBlock): Fact[] {
  const given = new Map<string, { value: string; line: Line }>()
  let parent = false
  for (const line of file.lines) {
    if (/^\s*<(dependencies|dependencyManagement|build|profiles|modules|developers|licenses)>/.test(line.text)) break
    if (/<parent>/.test(line.text)) parent = true
    const [, key = '', value = ''] = /^\s*<(artifactId|version|description)>([^<>$]+)<\/\1>/.exec(line.text) ?? []
    if (value !== '' && !parent && !given.has(key)) given.set(key, { value: value.trim(), line })
    if (/<\/parent>/.test(line.text)) parent = false
  }
  const [name, version, description] = ['artifactId', 'version', 'description'].map((key) => given.get(key))
  if (name === undefined) return []
  const ofVersion = version === undefined ? '' : `, version ${version.value}`
  const phrase = description === undefined ? '' : `, and describes it as ${quoted(firstSentence(description.value))}`
  const lines = [name, version, description].flatMap((one) => (one === undefined ? [] : [one.line]))
  return [
    {
      text: `${code(file.path)} names the artifact ${code(name.value)}${ofVersion}${phrase}.`,
      file,
      lines: lines.sort((a, b) => a.number - b.number),
    },
  ]
}

/** The libraries that a package needs to run. */
function dependencyFacts(file: FileBlock): Fact[] {
  const start = file.lines.findIndex(({ text }) =>
    /^\s*"dependencies"\s*:|^\[dependencies\]|^dependencies\s*=/.test(text),
  )
  if (start < 0) return []
  const lines: Line[] = []
  const names: string[] = []
  for (const line of file.lines.slice(start + 1)) {
    if (/^\s*[}\]]|^\[/.test(line.text)) break
    const [, name] = /^\s*"?([@\w./-]+)"?\s*(?:[:=<>~^!,"[]|$)/.exec(line.text) ?? []
    if (name === undefined) continue
    lines.push(line)
    names.push(name)
  }
  if (names.length === 0) return []
  const text = `${code(file.path)} lists ${names.slice(0, mostNames).map(code).join(', ')} among its dependencies.`
  return [{ text, file, lines: lines.slice(0, mostNames) }]
}

/** Commands to build, test and run the project. Workflows repeat what other files say, so they come last. */
export function commandFacts(files: FileBlock[]): Fact[] {
  const order = (file: FileBlock) => (/\.ya?ml$/.test(file.path) ? 1 : 0)
  const sorted = [...files].sort((a, b) => order(a) - order(b) || depthOf(a) - depthOf(b))
  const seen = new Set<string>()
  return sorted.flatMap(commandsOf).filter(({ text }) => {
    const phrase = /`[^`]*`/.exec(text)?.[0] ?? text
    return !seen.has(phrase) && seen.add(phrase)
  })
}

function commandsOf(file: FileBlock): Fact[] {
  if (nameOf(file) === 'package.json') return scriptFacts(file)
  if (/^((GNU)?[Mm]akefile|[Jj]ustfile)$/.test(file.path)) return targetFacts(file)
  if (/^\.github\/workflows\/.*\.ya?ml$/.test(file.path))
    return pick(
      file,
      /^\s*-?\s*run:\s*(?![|>][-+]?\s*$)(?!.*(?:\$\{\{|\$GITHUB_))(\S.*)$/,
      (found) => `The workflow ${code(file.path)} runs ${found}.`,
    )
  if (nameOf(file).startsWith('Dockerfile'))
    return pick(file, /^(?:CMD|ENTRYPOINT)\s+(.+)$/, (found) => `The container starts ${found}.`)
  return /(^|\/)(readme|contributing|build|install|development|hacking)[^/]*$/i.test(file.path) && depthOf(file) <= 2
    ? shownCommands(file)
    : []
}

/** Commands in the code of a document: between fences, indented, or after a dollar sign. */
function shownCommands(file: FileBlock): Fact[] {
  let fence = false
  return file.lines.flatMap((line) => {
    if (/^\s*(```|~~~)/.test(line.text)) fence = !fence
    const found = command.exec(line.text.slice(0, 400))?.[1]?.trim()
    if (found === undefined || isNoCommand.test(found) || !(fence || /^\s*\$|^ {3,}|^\t/.test(line.text))) return []
    return [{ text: `${code(file.path)} gives the command ${code(shorten(found))}.`, file, lines: [line] }]
  })
}

/** A sentence of the document, or a line of Go. */
const isNoCommand = /[;:,{]$|\s(the|our|your|sure)\s|^make use\b|^go func\b/

const command =
  /^\s*(?:\$\s+)?((?:npm|npx|pnpm|yarn|bun|deno|node|pip|poetry|uv|python3?|pytest|cargo|go|make|docker|gradle|\.\/gradlew|mvn|bundle|composer|dotnet) [\w./@:-].*)$/

/** The scripts that most people type come first. */
const usualScripts = ['build', 'test', 'dev', 'start', 'lint']

function scriptFacts(file: FileBlock): Fact[] {
  const start = file.lines.findIndex((line) => /^\s*"scripts"\s*:/.test(line.text))
  if (start < 0) return []
  const found: { name: string; fact: Fact }[] = []
  const folder = folderOf(file)
  for (const line of file.lines.slice(start + 1)) {
    if (/^\s*}/.test(line.text)) break
    const [, name, does] = /^\s*"([^"]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(line.text) ?? []
    if (!name || !does) continue
    const where = folder === '' ? '' : ` in ${code(`${folder}/`)}`
    found.push({
      name,
      fact: { text: `${code(`npm run ${name}`)}${where} runs ${code(shorten(unescaped(does)))}.`, file, lines: [line] },
    })
  }
  const rank = (name: string) => (usualScripts.includes(name) ? usualScripts.indexOf(name) : usualScripts.length)
  return found.sort((a, b) => rank(a.name) - rank(b.name)).map(({ fact }) => fact)
}

/** As the shell gets it. */
const unescaped = (text: string) => text.replace(/\\(["\\/])/g, '$1')

function targetFacts(file: FileBlock): Fact[] {
  return file.lines.flatMap((line, index) => {
    const [, name] = /^([A-Za-z][\w-]*)\s*:(?!=)/.exec(line.text.slice(0, 200)) ?? []
    if (name === undefined) return []
    const comment = index > 0 ? commentAt(file, index - 1) : undefined
    const phrase = saidBy(comment)
    const says = phrase === undefined ? '' : `: ${quoted(phrase)}`
    return [
      {
        text: `${code(`${/^just/i.test(nameOf(file)) ? 'just' : 'make'} ${name}`)} is a target of ${code(file.path)}${says}.`,
        file,
        lines: [...(phrase === undefined ? [] : comment!.lines), line],
      },
    ]
  })
}

export function pick(file: FileBlock, pattern: RegExp, say: (found: string) => string): Fact[] {
  return file.lines.flatMap((line) => {
    const found = pattern
      .exec(line.text.slice(0, 400))?.[1]
      ?.trim()
      .replace(/^(["'])(.*)\1$/, '$2')
    return found ? [{ text: say(code(shorten(found))), file, lines: [line] }] : []
  })
}
