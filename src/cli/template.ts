// `npm run template`: builds the E2B template that sandboxes start from, and waits until it can be used.

import { buildTemplate } from '../handoff/clients/e2b/build-template.js'
import { HandoffError } from '../handoff/domain/errors.js'
import { parseSandboxSettings } from '../handoff/domain/settings.js'
import { runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'

const command = {
  name: 'template',
  description: 'Builds the E2B template that sandboxes start from, and waits until it can be used.',
  options: {},
  example: 'template',
  cost: 'one build of some minutes in your E2B account; E2B_API_KEY is needed.',
} as const

await runCommand(command, async ({ untilInterrupted }) => {
  const settings = parseSandboxSettings(readEnvironment())
  if (settings.apiKey === '') {
    throw new HandoffError('missing-setting', 'E2B_API_KEY is missing.', {
      next: 'Make a key in the dashboard of E2B, or let `npm run setup` ask for it.',
    })
  }
  const built = await buildTemplate(settings, (line) => process.stdout.write(`${line}\n`), untilInterrupted())
  process.stdout.write(`The template ${built.name} is ready (${built.templateId}, tags: ${built.tags.join(', ')}).\n`)
})
