// Texts that are generated so that they cannot drift: `.env.example` and the tables of settings from the table in the code; and between their marks the
// tables of inputs and outputs from action.yml, the guarantees from the names of their tests, the costs from the price table, the times of storing
// from what was measured, and the button that deploys from
// package.json; and the model that documents and examples name.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { exampleModel } from '../handoff/domain/model-prices.js'
import { requiredSettings } from '../handoff/domain/settings.js'
import { type Setting, settingTable } from '../handoff/domain/settings-reference.js'
import { costTable } from './cost-table.js'
import { guaranteesPage } from './guarantees-list.js'
import { storingTable } from './measured-figures.js'

const intro = [
  '# Settings of handoff. Copy this file to .env and fill in what you have.',
  '# The demo starts an emulator for each service whose key is empty; the Action and the functions never do that.',
]

/** Files with marks; each mark is replaced in each file that has it. */
export const generatedDocuments = [
  'README.md',
  'docs/action.md',
  'docs/format.md',
  'docs/service.md',
  'docs/settings.md',
  'docs/guarantees.md',
]

export async function writeDocuments(root: string): Promise<void> {
  await writeFile(join(root, '.env.example'), environmentExample())
  const parts = await generatedParts(root)
  for (const name of generatedDocuments) await rewrite(join(root, name), (text) => withGeneratedParts(text, parts))
  for (const name of await readdir(join(root, 'examples')))
    await rewrite(join(root, 'examples', name), withExampleModel)
}

/** What stands between the marks, by the name of the mark. */
export async function generatedParts(root: string): Promise<Record<string, string>> {
  const [description, guarantees, manifest] = await Promise.all([
    readFile(join(root, 'action.yml'), 'utf8'),
    guaranteesPage(root),
    readFile(join(root, 'package.json'), 'utf8'),
  ])
  const { inputs, outputs } = parse(description) as Record<'inputs' | 'outputs', Record<string, Described>>
  return {
    inputs: inputTable(inputs),
    outputs: outputTable(outputs),
    settings: settingTables(),
    guarantees,
    costs: costTable(),
    storing: storingTable(),
    deploy: deployButton(JSON.parse(manifest).repository),
  }
}

export function withGeneratedParts(text: string, parts: Record<string, string>): string {
  const filled = Object.entries(parts).reduce((done, [mark, part]) => between(done, mark, part), text)
  return withExampleModel(filled)
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

/** What the platform asks for before the first deployment. */
const describeDefault = [...requiredSettings, 'HANDOFF_BEARERS']

/** `github:owner/name`, from package.json: a published copy names itself there, so that its readers' keys go to it and nowhere else. */
function deployButton(repository: string): string {
  const address = `https://github.com/${repository.replace('github:', '')}`
  const query = new URLSearchParams({
    'repository-url': address,
    'project-name': 'handoff',
    env: describeDefault.join(','),
    envDescription: 'Each setting has a sentence there',
    envLink: `${address}/blob/main/docs/settings.md`,
  })
  return `[![Deploy with Vercel](https://vercel.com/button)](https://vercel.com/new/clone?${query})`
}

// ── tables ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface Described {
  description: string
  default?: string
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

/** One table for each group, in the order of the code. */
function settingTables(): string {
  const groups = Map.groupBy(settingTable, (setting) => setting.group)
  const parts = [...groups].map(([group, settings]) => {
    const rows = settings.map(({ name, example, text }) => {
      const usual = example === undefined ? '' : `\`${example}\``
      return `| \`${name}\` | ${usual} | ${cell(text)} |`
    })
    const title = `### ${group[0]!.toUpperCase()}${group.slice(1)}`
    return [title, '', '| setting | usual value | |', '| --- | --- | --- |', ...rows].join('\n')
  })
  return parts.join('\n\n')
}

const cell = (text: string) => text.trim().replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;')
