// `npm run audit`: what the journal has of a repository, and whether its chain is whole.
import { makeJournal } from '../handoff/clients/drive9/journal.js'
import { fullName, HandoffError, parseRepository } from '../handoff/index.js'
import { type AuditEntry, readAudit } from '../handoff/workflows/read-audit.js'
import { type Given, runCommand } from './command-line.js'
import { readDriveSettings } from './load-env.js'
import { harmless } from './terminal.js'

const command = {
  name: 'audit',
  description: `Verifies the chain of a repository's journal, and tells who asked what of which commit at what cost.
The journal is written where HANDOFF_JOURNAL is true.`,
  positionals: { usage: 'OWNER/NAME', least: 1, most: 1 },
  options: {
    host: { type: 'string', value: 'HOST', default: 'github.com', help: 'the git host' },
    since: {
      type: 'string',
      value: 'DATE',
      help: 'entries of this day and later, as 2026-11-18; the chain is verified whole',
    },
    json: { type: 'boolean', help: 'one entry a line as JSON; the verdict is on standard error' },
  },
  example: 'audit -- owner/name --since 2026-11-01',
  cost: 'nothing; no sandbox and no model.',
} as const

async function audit({ values, positionals }: Given<typeof command.options>): Promise<number> {
  const { since = '', json = false } = values
  if (since !== '' && !/^\d{4}-\d\d-\d\d$/.test(since))
    throw new HandoffError('invalid-input', '--since is not a date.', { next: 'Write it as 2026-11-18.' })
  const { server, apiKey, root } = readDriveSettings()
  const repository = parseRepository(positionals[0] ?? '', values.host)
  const journal = makeJournal({ server, key: apiKey })
  let cost = 0
  let shown = 0
  const show = (entry: AuditEntry) => {
    if (entry.at < since) return
    shown += 1
    cost += entry.cost ?? 0
    process.stdout.write(`${json ? JSON.stringify(entry) : harmless(rowOf(entry))}\n`)
  }
  const { entries, problem } = await readAudit(journal, root, repository, show, AbortSignal.timeout(600_000))
  const chain = problem === undefined ? 'the chain is whole' : `THE CHAIN IS BROKEN: ${problem}`
  const verdict = `${fullName(repository)}: ${shown} of ${entries} entries, $${cost.toFixed(4)}; ${chain}`
  process.stderr.write(`${harmless(verdict)}\n`)
  return problem === undefined ? 0 : 1
}

function rowOf({ at, type, who, commit, text, cost }: AuditEntry): string {
  const money = cost === undefined ? '' : `$${cost.toFixed(4)}`
  return `${at.slice(0, 16).replace('T', ' ')}  ${type.padEnd(10)}  ${commit.slice(0, 7).padEnd(7)}  ${who.padEnd(20)}  ${money.padStart(8)}  ${text}`
}

await runCommand(command, audit)
