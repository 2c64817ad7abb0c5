// Texts that are generated so that they cannot drift: `.env.example` from the table of settings.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Setting, settingTable } from '../handoff/library/settings.js'

const intro = [
  '# Settings of handoff. Copy this file to .env and fill in what you have.',
  '# In the demo every cloud whose key is empty is started on this machine; the Action and the functions never do that.',
]

export async function writeDocuments(root: string): Promise<void> {
  await writeFile(join(root, '.env.example'), environmentExample())
}

export function environmentExample(): string {
  const groups = Map.groupBy(settingTable, (setting) => setting.group)
  const parts = [...groups].map(([group, settings]) => [`# ── ${group} ──`, ...settings.map(entry)].join('\n\n'))
  return `${intro.join('\n')}\n\n${parts.join('\n\n')}\n`
}

/** A setting with a usual value is shown with it, switched off; one without stands empty. */
function entry(setting: Setting): string {
  const line = setting.secret || setting.example === undefined ? `${setting.name}=` : `# ${setting.name}=${setting.example}`
  return `# ${setting.text}\n${line}`
}
