// Checks that every regular expression of the product takes linear time.
import { collectExpressions, findSlowExpressions } from '../build/check-expressions.js'
import { runCommand } from './command-line.js'
import { repositoryRoot } from './sandbox-program.js'

const command = {
  name: 'expressions',
  description: 'Checks that every regular expression of the product takes linear time.',
  options: {},
  example: 'expressions',
  cost: 'nothing; a minute of this machine.',
} as const

await runCommand(command, async () => {
  const expressions = await collectExpressions(repositoryRoot)
  const slow = await findSlowExpressions(expressions)
  for (const { place, source, flags, problem } of slow) console.error(`${place}: /${source}/${flags}: ${problem}`)
  if (slow.length > 0) {
    console.error('Bound each repetition, or write the search as plain string code.')
    return 1
  }
  console.log(`${expressions.length} regular expressions take linear time.`)
  return 0
})
