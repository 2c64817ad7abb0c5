// Runs tests again and again in one process of vitest: at each message it says whether the tests named in it fail.
import { inspect } from 'node:util'
import { createVitest, type TestModule } from 'vitest/node'

export interface TestRequest {
  /** The file that was changed. */
  changed: string
  tests: string[]
}

export interface TestReply {
  failed: boolean
  /** Names of tests that failed. */
  tests: string[]
  /** Nothing failed but the time of a test, which a busy machine causes too. */
  late: boolean
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
  process.send!(await firstFailure(tests))
})

/** One file after the other, until one fails: a guard names its quickest first. */
async function firstFailure(tests: string[]): Promise<TestReply> {
  for (const test of tests) {
    const specifications = await vitest.globTestSpecifications([test])
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
    // Modules of earlier runs are among them.
    const failed = testModules.filter((module) => module.moduleId === test && module.state() === 'failed')
    if (failed.length + unhandledErrors.length === 0) continue
    // A change can make a test throw anything, also what cannot become a string.
    const errors = [...failed.flatMap(errorsOf), ...unhandledErrors.map((error) => inspect(error))]
    return {
      failed: true,
      tests: failed.flatMap((module) => [...module.children.allTests('failed')].map(({ fullName }) => fullName)),
      late: errors.length > 0 && errors.every((error) => / timed out in \d+ms/.test(error)),
    }
  }
  return { failed: false, tests: [], late: false }
}

function errorsOf(module: TestModule): string[] {
  const ofTests = [...module.children.allTests('failed')].flatMap((test) => test.result().errors ?? [])
  return [...module.errors(), ...ofTests].map(({ message }) => message)
}

process.send!('ready')
