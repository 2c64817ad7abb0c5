// Runs tests again and again in one process of vitest: at each message it says whether the tests named in it fail.
import { createVitest } from 'vitest/node'

export interface TestRequest {
  /** The file that was changed. */
  changed: string
  tests: string[]
}

export interface TestReply {
  failed: boolean
  /** Names of tests that failed. */
  tests: string[]
}

const [root = ''] = process.argv.slice(2)
const quiet = { onTestRunEnd: () => undefined }
const vitest = await createVitest('test', { root, watch: false, bail: 1, maxWorkers: 1, reporters: [quiet] })
await vitest.standalone()

/** The file of the request before, which may have been restored since. */
let changedBefore: string | undefined
process.on('message', async ({ changed, tests }: TestRequest) => {
  for (const file of new Set([changed, changedBefore ?? changed])) vitest.invalidateFile(file)
  changedBefore = changed
  const specifications = await vitest.globTestSpecifications(tests)
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  // Modules of earlier runs are among them.
  const failed = testModules.filter((module) => tests.includes(module.moduleId) && module.state() === 'failed')
  const names = failed.flatMap((module) => [...module.children.allTests('failed')].map(({ fullName }) => fullName))
  process.send!({ failed: failed.length + unhandledErrors.length > 0, tests: names } satisfies TestReply)
})
process.send!('ready')
