// The index of words is used where it spares more than its download costs.
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ProgramTask } from '../../../../src/handoff/domain/sandbox-protocol.js'
import { answerQuestion, type RunEvent, summarise } from '../../../../src/handoff/index.js'
import { startLocalStack } from '../../../support/local-stack.js'
import { makeRepository } from '../../../support/repository.js'
import { tokenFiles } from '../../../support/token-files.js'

const never = new AbortController().signal
const name = 'octo/tools'

test.each([
  ['a small clone', 10, []],
  ['a large clone', 3_000_000, ['analysis/words.gz']],
])(
  'of %s Sandbox B fetches what it needs, and finds the lines',
  async (_, bytes, fetched) => {
    await using repository = await makeRepository([{ ...tokenFiles, 'picture.png': randomBytes(bytes) }])
    await using stack = await startLocalStack({ repositories: { [name]: repository.directory } })
    const commit = stack.commit(name, repository.head, 'refs/heads/main')
    const { run } = await summarise({ commit, attempt: 'one' }, stack.context, never)
    const tasks: ProgramTask[] = []
    const events: RunEvent[] = []
    const { ports } = stack.context
    const open: typeof ports.sandboxes.open = async (...words) => {
      const sandbox = await ports.sandboxes.open(...words)
      const watched: typeof sandbox.run = (command, options) => {
        tasks.push(JSON.parse(options.environment['HANDOFF_TASK'] ?? '') as ProgramTask)
        return sandbox.run(command, options)
      }
      return { ...sandbox, run: watched }
    }
    const emit = (event: RunEvent) => void events.push(event)
    const context = { ...stack.context, ports: { ...ports, emit, sandboxes: { ...ports.sandboxes, open } } }
    const question = { text: 'How does `refreshToken` work?' }
    await answerQuestion({ repository: commit.repository, name: { run }, question }, context, never)
    const paths = tasks.flatMap((task) => (task.task === 'find' ? task.artifacts.map(({ path }) => path) : []))
    expect(paths).toContain('analysis/outline.json')
    expect(paths.filter((path) => path.endsWith('.gz'))).toEqual(fetched)
    expect(events).toContainEqual(expect.objectContaining({ type: 'excerpts-found', first: expect.anything() }))
  },
  60_000,
)
