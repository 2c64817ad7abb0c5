// Measures whether tests notice when a guard is changed.

import { runCommand } from '../../src/cli/command-line.js'
import { repositoryRoot } from '../../src/cli/sandbox-program.js'
import { HandoffError } from '../../src/handoff/domain/errors.js'
import { guardFiles } from './guard-files.js'
import { type MeasuredGuard, measureGuards } from './measure.js'

const command = {
  name: 'mutants',
  description: 'Changes each guard in many small ways, and says which changes no test notices.',
  positionals: { usage: '[AREA or FILE below src…]', least: 0, most: 100 },
  options: {},
  example: 'mutants -- redaction',
  cost: 'nothing; an hour of this machine for all guards.',
} as const

const percent = ({ mutants, survivors }: MeasuredGuard) => ((1 - survivors.length / mutants) * 100).toFixed(1)

await runCommand(command, async ({ positionals, untilInterrupted }) => {
  const isChosen = (area: string, file: string) =>
    positionals.length === 0 || positionals.includes(area) || positionals.includes(file.replace(/^src\//, ''))
  const chosen = Object.entries(guardFiles).flatMap(([area, files]) => files.filter(({ file }) => isChosen(area, file)))
  if (chosen.length === 0) {
    throw new HandoffError('invalid-input', `No guard is called ${positionals.join(', ')}.`, {
      next: `Name a file of test/mutants/guard-files.ts, or an area: ${Object.keys(guardFiles).join(', ')}.`,
    })
  }
  const measured = await measureGuards(
    repositoryRoot,
    chosen,
    ({ file }, { line, was, becomes }, survived) => {
      if (survived) console.log(`survived  src/${file}:${line}  ${was}  →  ${becomes}`)
    },
    untilInterrupted(),
  )
  console.log(`\n| guard | changes | noticed |\n| --- | --- | --- |`)
  for (const one of measured) console.log(`| \`${one.file}\` | ${one.mutants} | ${percent(one)} % |`)
  return measured.every(({ survivors }) => survivors.length === 0) ? 0 : 1
})
