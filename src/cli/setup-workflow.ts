// What a repository needs: the workflow of the Action's quick start, and its secrets.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './sandbox-program.js'

/** Settings that a workflow says by inputs of the same names, where they are not the usual ones. */
const addresses = [
  'E2B_DOMAIN',
  'E2B_API_URL',
  'E2B_SANDBOX_URL',
  'E2B_TEMPLATE',
  'DRIVE9_SERVER',
  'DRIVE9_ROOT',
  'DRIVE9_OBJECT_HOSTS',
  'DRIVE9_BINARY_URL',
  'DRIVE9_BINARY_SHA256',
  'LLM_BASE_URL',
]

/** The workflow of the quick start in docs/action.md, with the model and the addresses that are set. */
export function workflowText(settings: Record<string, string>): string {
  const guide = readFileSync(join(repositoryRoot, 'docs/action.md'), 'utf8')
  const [, yaml] = /## Quick start[\s\S]*?```yaml\n([\s\S]*?)```/.exec(guide) ?? []
  if (yaml === undefined) throw new Error('docs/action.md has no quick start.')
  const names = ['LLM_MODEL', ...addresses.filter((name) => settings[name] !== undefined)]
  const inputs = names.map((name) => `${name.toLowerCase().replaceAll('_', '-')}: ${settings[name]}`)
  return yaml
    .trimEnd()
    .replace(/^( *)llm-model: .*$/gm, (_, indent: string) => inputs.map((line) => indent + line).join('\n'))
}

/** Each value goes from the file through a pipe: no value stands in a command, so none stays in the shell's history. */
export function secretLines(names: string[], file: string, repository = 'OWNER/NAME'): string {
  return names
    .map((name) => `  sed -n 's/^${name}=//p' ${file} | gh secret set ${name} --repo ${repository}`)
    .join('\n')
}
