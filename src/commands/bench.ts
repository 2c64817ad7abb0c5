// `npm run bench`: what is measured, and against what. Every part prints its raw runs, and ratios that do not depend on the machine.
//
//   npm run bench                                   everything that needs nothing from outside
//   npm run bench -- walks                          one part: walks, survey, find, incremental, action, service
//   npm run bench -- --repositories DIR             clones to measure the survey and the search on
//   npm run bench -- --checkout DIR                 a copy of actions/checkout to compare start-up with
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

interface Arguments {
  parts: string[]
  repositories: string[]
  checkout?: string
}

const known = ['walks', 'action', 'service', 'survey', 'find', 'incremental'] as const

function readArguments(words: string[]): Arguments {
  const given: Arguments = { parts: [], repositories: [] }
  const waiting = [...words]
  for (let word = waiting.shift(); word !== undefined; word = waiting.shift()) {
    if (word === '--repositories') given.repositories = repositoriesIn(resolve(waiting.shift() ?? '.'))
    else if (word === '--checkout') given.checkout = resolve(waiting.shift() ?? '.')
    else if ((known as readonly string[]).includes(word)) given.parts.push(word)
    else throw new Error(`The bench does not know ${word}. Its parts are ${known.join(', ')}.`)
  }
  return given
}

/** Every git directory in a folder: bare, with a work tree, or one level down. */
function repositoriesIn(folder: string): string[] {
  const isRepository = (path: string) => existsSync(join(path, 'HEAD')) || existsSync(join(path, '.git'))
  return readdirSync(folder)
    .flatMap((name) => [join(folder, name), join(folder, name, 'repo')])
    .filter(isRepository)
}

const { parts, repositories, checkout } = readArguments(process.argv.slice(2))
const wanted = (part: (typeof known)[number]) => parts.length === 0 || parts.includes(part)
const say = (text: string) => process.stdout.write(`${text}\n`)

if (wanted('walks')) await (await import('./bench/walks.js')).benchWalks()
if (wanted('action')) await (await import('./bench/action.js')).benchAction(checkout)
if (wanted('service')) await (await import('./bench/service.js')).benchService()
if (repositories.length === 0) say('The survey, the search and the increments need repositories: --repositories DIR.')
else {
  if (wanted('survey')) await (await import('./bench/survey.js')).benchSurvey(repositories)
  if (wanted('find')) await (await import('./bench/find.js')).benchFind(repositories)
  if (wanted('incremental')) await (await import('./bench/incremental.js')).benchIncremental(repositories)
}
