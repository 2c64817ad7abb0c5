// `npm run template`: builds the E2B template that sandboxes start from, and waits until it can be used.
import { HandoffError } from '../handoff/library/errors.js'
import { buildTemplate, howToPin, type TemplateSettings } from '../handoff/lines/template.js'
import { runCommand } from './command-line.js'
import { readEnvironment } from './environment.js'

function readSettings(environment: NodeJS.ProcessEnv): TemplateSettings {
  const { E2B_API_KEY: apiKey, DRIVE9_BINARY_URL: url, DRIVE9_BINARY_SHA256: sha256 } = environment
  const needed = { E2B_API_KEY: apiKey, DRIVE9_BINARY_URL: url, DRIVE9_BINARY_SHA256: sha256 }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value?.trim() ? [] : [name]))
  if (!apiKey || !url || !sha256 || missing.length > 0) {
    throw new HandoffError('missing-setting', `These settings are missing: ${missing.join(', ')}.`, {
      next: missing.some((name) => name.startsWith('DRIVE9')) ? howToPin : 'The key is in the dashboard of E2B.',
    })
  }
  const domain = environment['E2B_DOMAIN']?.trim()
  const template = environment['E2B_TEMPLATE']?.trim() || 'handoff'
  return {
    apiKey: apiKey.trim(),
    template,
    binary: { url: url.trim(), sha256: sha256.trim() },
    ...(domain ? { domain } : {}),
  }
}

const command = {
  name: 'template',
  description: 'Builds the E2B template that sandboxes start from, and waits until it can be used.',
  options: {},
  example: 'template',
  cost: 'one build of some minutes in your E2B account; E2B_API_KEY, DRIVE9_BINARY_URL and DRIVE9_BINARY_SHA256 are needed.',
} as const

await runCommand(command, async ({ untilInterrupted }) => {
  const settings = readSettings(readEnvironment())
  const built = await buildTemplate(settings, (line) => process.stdout.write(`${line}\n`), untilInterrupted())
  process.stdout.write(`The template ${built.name} is ready (${built.templateId}, tags: ${built.tags.join(', ')}).\n`)
})
