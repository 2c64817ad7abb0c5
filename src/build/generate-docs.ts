// Texts that are generated so that they cannot drift: `.env.example` from the table of settings, and between their marks the tables of inputs
// and outputs from action.yml, the promises from the names of their tests, the button that deploys from package.json; and the model that
// documents and examples name.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { exampleModel } from '../handoff/domain/model-prices.js'
import { requiredSettings } from '../handoff/domain/settings.js'
import { type Setting, settingTable } from '../handoff/domain/settings-reference.js'
import { promisesPage } from './guarantees-list.js'

const intro = [
  '# Settings of handoff. Copy this file to .env and fill in what you have.',
  '# In the demo every cloud whose key is empty is started on this machine; the Action and the functions never do that.',
]

/** Files with marks; what a mark stands for is written wherever it stands. */
const withMarks = ['src/action/README.md', 'README.md', 'api/README.md']

export async function writeDocuments(root: string): Promise<void> {
  await writeFile(join(root, '.env.example'), environmentExample())
  const [description, promises, manifest] = await Promise.all([
    readFile(join(root, 'action.yml'), 'utf8'),
    promisesPage(root),
    readFile(join(root, 'package.json'), 'utf8'),
  ])
  const button = deployButton(JSON.parse(manifest).repository)
  for (const name of withMarks) {
    await rewrite(join(root, name), (text) =>
      withExampleModel(between(between(withActionTables(text, description), 'promises', promises), 'deploy', button)),
    )
  }
  for (const name of await readdir(join(root, 'examples')))
    await rewrite(join(root, 'examples', name), withExampleModel)
}

async function rewrite(path: string, change: (text: string) => string): Promise<void> {
  const text = await readFile(path, 'utf8')
  const changed = change(text)
  if (changed !== text) await writeFile(path, changed)
}

/** Names the same model wherever a workflow or a settings file names one of OpenAI's. */
export const withExampleModel = (text: string) =>
  text.replace(/(llm-model: |LLM_MODEL=)gpt-[\w.-]+/g, `$1${exampleModel}`)

export function environmentExample(): string {
  const groups = Map.groupBy(settingTable, (setting) => setting.group)
  const parts = [...groups].map(([group, settings]) => [`# ── ${group} ──`, ...settings.map(entry)].join('\n\n'))
  return `${intro.join('\n')}\n\n${parts.join('\n\n')}\n`
}

/** A setting with a usual value is shown with it, switched off; one without stands empty. */
function entry(setting: Setting): string {
  const line = setting.example === undefined ? `${setting.name}=` : `# ${setting.name}=${setting.example}`
  return `# ${setting.text}\n${line}`
}

// ── the button that deploys ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the platform asks for before the first deployment: what it takes to answer at all. */
export const askedFor = [...requiredSettings, 'HANDOFF_BEARERS']

/** `github:owner/name`: whoever publishes a copy says it in package.json, and every reader's keys go there and nowhere else. */
export function deployButton(repository: string): string {
  const address = `https://github.com/${repository.replace('github:', '')}`
  const query = new URLSearchParams({
    'repository-url': address,
    'project-name': 'handoff',
    env: askedFor.join(','),
    envDescription: 'Each setting has a sentence there',
    envLink: `${address}/blob/main/api/README.md#settings`,
  })
  return `[![Deploy with Vercel](https://vercel.com/button)](https://vercel.com/new/clone?${query})`
}

// ── the tables of the Action ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface Described {
  description: string
  default?: string
}

export function withActionTables(text: string, actionYaml: string): string {
  const { inputs, outputs } = parse(actionYaml) as Record<'inputs' | 'outputs', Record<string, Described>>
  return between(between(text, 'inputs', inputTable(inputs)), 'outputs', outputTable(outputs))
}

function between(text: string, mark: string, table: string): string {
  const [start, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from < 0 || to < from) return text
  return `${text.slice(0, from + start.length)}\n\n${table}\n\n${text.slice(to)}`
}

function inputTable(inputs: Record<string, Described>): string {
  const rows = Object.entries(inputs).map(([name, input]) => {
    const usual = input.default === undefined ? '' : `\`${input.default}\``
    return `| \`${name}\` | ${usual} | ${cell(input.description)} |`
  })
  return ['| input | default | |', '| --- | --- | --- |', ...rows].join('\n')
}

function outputTable(outputs: Record<string, Described>): string {
  const rows = Object.entries(outputs).map(([name, { description }]) => `| \`${name}\` | ${cell(description)} |`)
  return ['| output | |', '| --- | --- |', ...rows].join('\n')
}

const cell = (text: string) => text.trim().replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;')
