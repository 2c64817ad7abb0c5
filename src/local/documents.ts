// Texts that are generated so that they cannot drift: `.env.example` from the table of settings, and between their marks the tables of inputs
// and outputs from action.yml and the promises from the names of their tests.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Setting, settingTable } from '../handoff/library/setting-table.js'
import { promisesPage } from './promises-page.js'

const intro = [
  '# Settings of handoff. Copy this file to .env and fill in what you have.',
  '# In the demo every cloud whose key is empty is started on this machine; the Action and the functions never do that.',
]

/** Where the tables of the Action stand; a file without marks stays as it is. */
const withTables = ['src/action/README.md', 'README.md']

export async function writeDocuments(root: string): Promise<void> {
  await writeFile(join(root, '.env.example'), environmentExample())
  const [description, promises] = await Promise.all([readFile(join(root, 'action.yml'), 'utf8'), promisesPage(root)])
  for (const name of withTables) {
    const path = join(root, name)
    const text = await readFile(path, 'utf8').catch(() => undefined)
    if (text === undefined) continue
    const filled = between(withActionTables(text, description), 'promises', promises)
    if (filled !== text) await writeFile(path, filled)
  }
}

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
