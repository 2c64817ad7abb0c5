// `npm run bench`: what is measured, and against what. Every part prints its raw runs, and ratios that do not depend on the machine.
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Given, runCommand } from '../cli/command-line.js'
import { HandoffError } from '../handoff/domain/errors.js'

const known = [
  'workflows',
  'first-word',
  'push',
  'growth',
  'action',
  'service',
  'page',
  'reach',
  'survey',
  'index',
  'find',
  'history',
  'ripples',
] as const
type Part = (typeof known)[number]
const needRepositories: readonly Part[] = ['survey', 'index', 'find', 'history', 'ripples']

const command = {
  name: 'bench',
  description: `Measures on this machine, each part against a floor that does not depend on it.

  workflows    both workflows on the local clouds, step by step
  first-word   how long a question waits before the model is asked, for each number of files
  push         wall time of a push against its critical path, and the memory of the runner
  growth       time, storage, tokens and money by files and by runs; draws docs/images/growth.svg
  action       how long the Action takes to start
  service      a stored answer and a cold start of the functions
  page         how soon the page can be used on a phone; needs Chromium
  reach        files and functions that take part in a question and in a push
  survey       reading a commit; needs --repositories
  index        the size of the search index against the text; needs --repositories
  find         finding the lines for a question; needs --repositories
  history      what each of the last 199 pushes sends to the model, and whether summaries stay true; needs --repositories
  ripples      given one changed file, whether the others that changed with it are named; needs --repositories

Without a part all of them run.`,
  positionals: { usage: `[${known.join('|')}]`, least: 0, most: known.length },
  options: {
    repositories: { type: 'string', value: 'DIR', help: 'clones to measure the survey and the search on' },
    files: { type: 'string', value: 'N,N', help: 'sizes of the generated repositories' },
    repomix: { type: 'boolean', help: 'the survey beside repomix, which npx downloads' },
    checkout: { type: 'string', value: 'DIR', help: 'a copy of actions/checkout to compare the start with' },
  },
  example: 'bench -- workflows',
  cost: 'nothing; minutes of this machine.',
} as const

function readParts(words: string[]): Part[] {
  const unknown = words.find((word) => !(known as readonly string[]).includes(word))
  if (unknown === undefined) return words as Part[]
  throw new HandoffError('invalid-input', `There is no bench called ${unknown}.`, {
    next: `Choose from ${known.join(', ')}.`,
  })
}

/** Every git directory in a folder: bare, with a work tree, or one level down. */
function repositoriesIn(folder: string): string[] {
  const isRepository = (path: string) => existsSync(join(path, 'HEAD')) || existsSync(join(path, '.git'))
  return readdirSync(folder)
    .flatMap((name) => [join(folder, name), join(folder, name, 'repo')])
    .filter(isRepository)
}

function sizesIn(text: string | undefined, usual: number[]): number[] {
  const sizes = text?.split(',').map(Number) ?? usual
  if (sizes.every((size) => Number.isInteger(size) && size > 1 && size <= 100_000)) return sizes
  throw new HandoffError('invalid-input', `--files ${text} is not a list of sizes.`, {
    next: 'Write --files 500,3000.',
  })
}

async function bench({ values, positionals }: Given<typeof command.options>): Promise<void> {
  const parts = readParts(positionals)
  const repositories = values.repositories === undefined ? [] : repositoriesIn(resolve(values.repositories))
  const wanted = (part: Part) => parts.length === 0 || parts.includes(part)
  if (wanted('workflows')) await (await import('./end-to-end.js')).benchWorkflows()
  if (wanted('first-word'))
    await (await import('./first-word.js')).benchFirstWord(sizesIn(values.files, [500, 3_000, 23_000, 31_000]))
  if (wanted('push')) await (await import('./push.js')).benchPush(sizesIn(values.files, [500, 3_000, 23_000]))
  if (wanted('growth'))
    await (await import('./growth.js')).benchGrowth(sizesIn(values.files, [100, 300, 1_000, 3_000, 10_000, 31_000]))
  if (wanted('action'))
    await (await import('./action-startup.js')).benchAction(values.checkout && resolve(values.checkout))
  if (wanted('service')) await (await import('./service-startup.js')).benchService()
  if (wanted('page')) await (await import('./page.js')).benchPage()
  if (wanted('reach')) await (await import('./reach.js')).benchReach()
  if (repositories.length === 0) {
    const left = needRepositories.filter(wanted)
    if (left.length > 0) process.stdout.write(`Not measured without --repositories DIR: ${left.join(', ')}.\n`)
    return
  }
  if (wanted('survey')) await (await import('./survey-speed.js')).benchSurvey(repositories, values.repomix === true)
  if (wanted('index')) await (await import('./index-size.js')).benchIndex(repositories)
  if (wanted('find')) await (await import('./search-speed.js')).benchFind(repositories)
  if (wanted('history')) await (await import('./history.js')).benchHistory(repositories)
  if (wanted('ripples')) await (await import('./ripples.js')).benchRipples(repositories)
}

await runCommand(command, bench)
