// Checks that every regular expression of the product takes linear time.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectExpressions, type Expression, findSlowExpressions } from '../build/check-expressions.js'
import { runCommand } from './command-line.js'
import { repositoryRoot } from './sandbox-program.js'

const command = {
  name: 'expressions',
  description: 'Checks that every regular expression of the product takes linear time.',
  options: {},
  example: 'expressions',
  cost: 'nothing; a minute of this machine, and later only for new expressions.',
} as const

/** The expressions that an earlier run found linear. The file is a cache and is not committed. */
const cache = join(repositoryRoot, 'build/linear-expressions.json')
const keyOf = ({ source, flags }: Expression) => `/${source}/${flags}`

function readLinear(): Set<string> {
  try {
    return new Set(JSON.parse(readFileSync(cache, 'utf8')) as string[])
  } catch {
    return new Set()
  }
}

function writeLinear(expressions: readonly Expression[]): void {
  mkdirSync(join(repositoryRoot, 'build'), { recursive: true })
  writeFileSync(cache, JSON.stringify(expressions.map(keyOf)))
}

await runCommand(command, async () => {
  const expressions = await collectExpressions(repositoryRoot)
  const linear = readLinear()
  const slow = await findSlowExpressions(expressions.filter((one) => !linear.has(keyOf(one))))
  writeLinear(expressions.filter((one) => !slow.some((other) => keyOf(other) === keyOf(one))))
  for (const { place, source, flags, problem } of slow) console.error(`${place}: /${source}/${flags}: ${problem}`)
  if (slow.length > 0) {
    console.error('Bound each repetition, or write the search as plain string code.')
    return 1
  }
  console.log(`${expressions.length} regular expressions take linear time.`)
  return 0
})
