// `npm run sweep`: finds sandboxes of handoff whose owner died, and with `--yes` destroys them. Machines of other projects in the same account do
// not carry our metadata and are never touched.

import { hasLostOwner } from '../handoff/clients/e2b/keep-alive.js'
import { type AppContext, createContext, parseSettings } from '../handoff/index.js'
import { runCommand } from './command-line.js'
import { readEnvironment } from './load-env.js'
import { programText } from './sandbox-program.js'

async function sweep(context: AppContext, { act, all }: { act: boolean; all: boolean }): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  const now = context.ports.clock.now()
  const ours = await context.ports.sandboxes.find({ handoff: '1' }, signal)
  const orphans = ours.filter((sandbox) => all || hasLostOwner(sandbox, now, context.limits.deadlineMs))
  process.stdout.write(`${ours.length} sandboxes of handoff are alive, ${orphans.length} of them without an owner.\n`)
  await Promise.all(
    orphans.map(async ({ id, startedAt, metadata }) => {
      const killed = act ? await context.ports.sandboxes.kill(id, signal) : false
      process.stdout.write(
        `  ${id} since ${startedAt}, ${metadata['role'] ?? '?'} of run ${metadata['run'] ?? '?'}: ${act ? (killed ? 'destroyed' : 'was gone') : 'would be destroyed'}\n`,
      )
    }),
  )
  if (!act && orphans.length > 0)
    process.stdout.write(
      'Nothing was done. Run it again with --yes to destroy them; with --all for younger ones too.\n',
    )
}

const command = {
  name: 'sweep',
  description:
    'Lists the sandboxes of handoff in your E2B account that have lost their owner, and destroys them with --yes.',
  options: {
    all: { type: 'boolean', help: 'all sandboxes of handoff, those at work too' },
    yes: { type: 'boolean', help: 'destroy them' },
  },
  example: 'sweep -- --yes',
  cost: 'nothing; a sandbox that is destroyed costs no more.',
} as const

await runCommand(command, async ({ values: { yes = false, all = false } }) => {
  // Only the sandboxes are needed; what else is not set stays unused.
  const environment = { DRIVE9_API_KEY: 'unused', LLM_API_KEY: 'unused', LLM_MODEL: 'unused', ...readEnvironment() }
  const context = createContext(parseSettings(environment), { program: programText, emit: () => undefined })
  await sweep(context, { act: yes, all })
})
