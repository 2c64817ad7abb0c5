// Many tests of this suite repeat what a sandbox program did once. If that stops working they still pass, and take several times as long.
import { expect, test } from 'vitest'
import { answerQuestion, summarise } from '../src/handoff/index.js'
import { startLocalStack } from './support/local-stack.js'
import { makeRepository } from './support/repository.js'

const never = new AbortController().signal

test.each([
  ['a small clone', 3],
  ['a clone and tables that drive9 redirects to its object storage', 900],
])(
  'of %s, the second summary and the second question are repeated',
  async (_, modules) => {
    const files = Array.from({ length: modules }, (_, at): [string, string] => [
      `src/part-${at}/module.ts`,
      `// ${at} ${Math.sin(at)}\nexport const value${at} = ${at}\n`,
    ])
    await using repository = await makeRepository(Object.fromEntries(files))
    const repositories = { 'one/tools': repository.directory, 'two/tools': repository.directory }
    await using stack = await startLocalStack({ repositories, repeated: { searchFor: 'What is value1?' } })
    const [commit, again] = Object.keys(repositories).map((name) => stack.commit(name, repository.head))
    const { run } = await summarise({ commit: commit!, attempt: 'first' }, stack.context, never)
    expect(stack.repeated).toEqual({ run: 1, repeated: 0 })
    await summarise({ commit: again!, attempt: 'first' }, stack.context, never)
    expect(stack.repeated).toEqual({ run: 1, repeated: 1 })
    // For the second question the search of the first one stands.
    for (const text of ['What does value1 hold?', 'What does value2 hold?']) {
      const { repository: of, cloneUrl } = commit!
      await answerQuestion({ repository: of, cloneUrl, name: { run }, question: { text } }, stack.context, never)
    }
    expect(stack.repeated?.repeated).toBeGreaterThan(1)
  },
  60_000,
)
