// Measures whether tests notice when a guard is changed, and writes the figures into docs/guarantees.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from '../../src/cli/command-line.js'
import { repositoryRoot } from '../../src/cli/sandbox-program.js'
import { HandoffError } from '../../src/handoff/domain/errors.js'
import { acceptedSurvivors } from './accepted-survivors.js'
import { guardFiles } from './guard-files.js'
import { type MeasuredGuard, measureGuards } from './measure.js'
import { changeOf, compareSurvivors, figuresTable, type MeasuredFiles, replaceBetween } from './report.js'

const command = {
  name: 'mutants',
  description: 'Changes each guard in many small ways, and says which changes no test notices.',
  positionals: { usage: '[AREA or FILE below src…]', least: 0, most: 100 },
  options: {},
  example: 'mutants -- redaction',
  cost: 'nothing; two hours of this machine for all guards.',
} as const

const figuresPath = join(repositoryRoot, 'test/mutants/figures.json')
const documentPath = join(repositoryRoot, 'docs/guarantees.md')

await runCommand(command, async ({ positionals, untilInterrupted }) => {
  const isChosen = (area: string, file: string) =>
    positionals.length === 0 || positionals.includes(area) || positionals.includes(file.replace(/^src\//, ''))
  const chosen = Object.entries(guardFiles).flatMap(([area, files]) => files.filter(({ file }) => isChosen(area, file)))
  if (chosen.length === 0) {
    throw new HandoffError('invalid-input', `No guard is called ${positionals.join(', ')}.`, {
      next: `Name a file of test/mutants/guard-files.ts, or an area: ${Object.keys(guardFiles).join(', ')}.`,
    })
  }
  let isExplained = true
  for await (const result of measureGuards(repositoryRoot, chosen, untilInterrupted())) {
    const measured = countListed(result)
    console.log(figuresLine(measured))
    for (const mutant of measured.late)
      console.log(`by time alone  src/${measured.file}:${mutant.line}  ${changeOf(mutant)}`)
    isExplained = judge(measured) && isExplained
    writeFigures(measured)
  }
  console.log(`\n${figuresTable(guardFiles, readFigures())}`)
  return isExplained ? 0 : 1
})

/** A listed change whose tests only ran out of time counts as not noticed: the machine was busy. */
function countListed({ file, mutants, survivors, late }: MeasuredGuard): MeasuredGuard {
  const { unexplained } = compareSurvivors(late, acceptedSurvivors[file] ?? [])
  const listed = late.filter((mutant) => !unexplained.includes(mutant))
  return { file, mutants, survivors: [...survivors, ...listed], late: unexplained }
}

function figuresLine({ file, mutants, survivors }: MeasuredGuard): string {
  return `src/${file}: ${mutants} changes, ${mutants - survivors.length} noticed`
}

/** Whether the list explains every change that was not noticed, and nothing else. */
function judge({ file, survivors }: MeasuredGuard): boolean {
  const { unexplained, noticed } = compareSurvivors(survivors, acceptedSurvivors[file] ?? [])
  for (const mutant of unexplained) console.log(`survived  src/${file}:${mutant.line}  ${changeOf(mutant)}`)
  for (const { code, change } of noticed) console.log(`listed, but noticed  src/${file}: ${code}  ${change}`)
  return unexplained.length === 0 && noticed.length === 0
}

function readFigures(): MeasuredFiles {
  return JSON.parse(readFileSync(figuresPath, 'utf8')) as MeasuredFiles
}

/** Figures of files that were not measured now stay as they were measured. */
function writeFigures({ file, mutants, survivors }: MeasuredGuard): void {
  const now = { ...readFigures(), [file]: { changes: mutants, noticed: mutants - survivors.length } }
  const figures = Object.fromEntries(Object.entries(now).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(figuresPath, `${JSON.stringify(figures, null, 2)}\n`)
  const document = readFileSync(documentPath, 'utf8')
  writeFileSync(documentPath, replaceBetween(document, 'mutants', figuresTable(guardFiles, figures)))
}
