// `npm run sweep`: finds sandboxes of this project that nobody owns any more, and with `--yes` destroys them. Machines of other projects in the
// same account do not carry our mark and are never touched.
import { connect, type House, isHandoffError, parseSettings } from '../handoff/index.js'
import { readEnvironment } from './environment.js'
import { programText } from './program.js'

/** A walk never takes longer than its deadline; what is older has lost its owner. */
async function sweep(house: House, act: boolean): Promise<number> {
  const signal = AbortSignal.timeout(60_000)
  const oldest = house.tools.now().getTime() - house.limits.deadlineMs
  const ours = await house.tools.sandboxes.find({ handoff: '1' }, signal)
  const orphans = ours.filter(
    (sandbox) => new Date(sandbox.startedAt).getTime() < oldest || process.argv.includes('--all'),
  )
  process.stdout.write(
    `${ours.length} sandboxes of this project are alive, ${orphans.length} of them without an owner.\n`,
  )
  const results = await Promise.all(
    orphans.map(async ({ id, startedAt, metadata }) => {
      const killed = act ? await house.tools.sandboxes.kill(id, signal) : false
      process.stdout.write(
        `  ${id} since ${startedAt}, ${metadata['role'] ?? '?'} of run ${metadata['run'] ?? '?'}: ${act ? (killed ? 'destroyed' : 'was gone') : 'would be destroyed'}\n`,
      )
      return killed
    }),
  )
  if (!act && orphans.length > 0)
    process.stdout.write(
      'Nothing was done. Run it again with --yes to destroy them; with --all for younger ones too.\n',
    )
  return results.filter(Boolean).length
}

try {
  // Only the sandboxes are needed; what else is not set stays unused.
  const environment = { DRIVE9_API_KEY: 'unused', LLM_API_KEY: 'unused', LLM_MODEL: 'unused', ...readEnvironment() }
  const house = connect(parseSettings(environment), { program: programText, emit: () => undefined })
  await sweep(house, process.argv.includes('--yes'))
} catch (error) {
  if (!isHandoffError(error)) throw error
  process.stderr.write(`${error.message}${error.next ? `\n${error.next}` : ''}\n`)
  process.exitCode = 1
}
